//! What an unwinder needs of a module: where its code is, and its unwind information.

use super::modules::Module;
use framehop::ExplicitModuleSectionInfo;

/// The module as framehop knows modules.
pub(super) fn module(module: &Module) -> framehop::Module<Vec<u8>> {
    let image = module.binary.image;
    let data = |name: &str| image.section(name).map(|bytes| bytes.bytes().to_vec());
    let range = |name: &str| image.section_range(name).map(|(start, len)| start..start.saturating_add(len));
    let info = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        ..ExplicitModuleSectionInfo::default()
    };
    framehop::Module::new(module.binary.name.clone(), module.start..module.end, module.bias, info)
}
