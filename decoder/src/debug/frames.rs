//! Call frame information: where functions lie, and how the canonical frame address (CFA) is computed at an
//! instruction. Only the two rules that compilers use for it (register + offset) are understood; DWARF
//! expressions as CFA rules occur in the PLT and in hand-written code, where nobody asks.

use crate::effect::Arch;
use crate::image::{Bytes, Image};
use gimli::{BaseAddresses, CfaRule, CieOrFde, EhFrame, UnwindContext, UnwindSection as _};

/// How the CFA is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cfa {
    /// The register, in DWARF's numbering.
    pub register: u16,
    /// What is added to it.
    pub offset: i64,
}

/// The frame descriptions of one image.
pub struct Frames {
    section: EhFrame<Bytes>,
    bases: BaseAddresses,
    /// (start, end, offset in the section), by start.
    index: Vec<(u64, u64, usize)>,
}

impl Frames {
    /// Reads the index of `.eh_frame`. What cannot be parsed is left out.
    pub fn new(image: &Image) -> Frames {
        let bytes = image
            .section(".eh_frame")
            .unwrap_or_else(|| Bytes::new(std::sync::Arc::from([]), gimli::LittleEndian));
        let mut section = EhFrame::from(bytes);
        section.set_address_size(8);
        if image.arch() == Arch::Aarch64 {
            section.set_vendor(gimli::Vendor::AArch64);
        }
        let address = |name| image.section_range(name).map_or(0, |(addr, _)| addr);
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        let mut index = Vec::new();
        let mut entries = section.entries(&bases);
        // The CIE of the previous FDE is nearly always the CIE of the next one.
        let mut last: Option<(usize, gimli::CommonInformationEntry<Bytes>)> = None;
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let fde = partial.parse(|section, bases, offset| {
                if let Some((at, cie)) = &last
                    && *at == offset.0
                {
                    return Ok(cie.clone());
                }
                let cie = section.cie_from_offset(bases, offset)?;
                last = Some((offset.0, cie.clone()));
                Ok(cie)
            });
            if let Ok(fde) = fde
                && fde.initial_address() < fde.end_address()
            {
                index.push((fde.initial_address(), fde.end_address(), fde.offset()));
            }
        }
        index.sort_unstable();
        Frames { section, bases, index }
    }

    /// The extents of functions, by address.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.index.iter().map(|&(start, end, _)| (start, end))
    }

    /// How the CFA is computed at an instruction.
    pub fn cfa(&self, pc: u64) -> Option<Cfa> {
        let at = self.index.partition_point(|&(start, _, _)| start <= pc).checked_sub(1)?;
        let (_, end, offset) = self.index[at];
        if pc >= end {
            return None;
        }
        let fde = self
            .section
            .fde_from_offset(&self.bases, gimli::EhFrameOffset(offset), EhFrame::cie_from_offset)
            .ok()?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&self.section, &self.bases, &mut context, pc).ok()?;
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                Some(Cfa { register: register.0, offset: *offset })
            }
            CfaRule::Expression(_) => None,
        }
    }
}
