//! The init block: `{ x = 0; [y] = 1; atomic_int z; 0:r0 = 2; }`.

use super::{Kind, MAX_REGISTERS, ParseError, Parser, Result, Token, thread_name, unsupported};
use alloc::format;

impl Parser<'_> {
    pub(super) fn init_block(&mut self) -> Result<()> {
        self.expect("{")?;
        while !self.eat("}") {
            if !self.eat(";") {
                self.init_entry()?;
                if !self.at("}") {
                    self.expect(";")?;
                }
            }
        }
        Ok(())
    }

    fn init_entry(&mut self) -> Result<()> {
        let Token { kind: first, at: start } = self.peek();
        let ty = self.optional_type()?;
        if ty.is_some() {
            // herd's generators write the declaration as the threads have it: `atomic_int *x;`.
            self.eat("*");
            if self.at("*") {
                return Err(unsupported::pointer_to_pointer(self.peek().at));
            }
        } else if let (Kind::Name(name), Kind::Name(_)) = (first, self.peek_at(1).kind) {
            return Err(unsupported::unknown_type(name, start));
        }
        if let Some(thread) = self.thread_prefix()? {
            let (name, _) = self.name("a register")?;
            self.expect("=")?;
            let value = self.number()?;
            if self.register_init.len() == MAX_REGISTERS {
                return Err(ParseError::new(start, format!("more than {MAX_REGISTERS} registers are set")));
            }
            if self.register_init.iter().any(|init| (init.0, init.1) == (thread, name)) {
                return Err(ParseError::new(start, format!("`{thread}:{name}` is set twice")));
            }
            self.register_init.push((thread, name, value, start));
            return Ok(());
        }
        let bracketed = self.eat("[");
        let (name, at) = self.name("a location, a register or `}`")?;
        if bracketed {
            self.expect("]")?;
        }
        self.no_array()?;
        let id = self.location(name, at)?;
        let value = if self.eat("=") { self.number()? } else { 0 };
        let shared = &mut self.shared[id.0];
        if shared.init.replace(value).is_some() {
            return Err(ParseError::new(at, format!("`{name}` is set twice")));
        }
        shared.declared = ty;
        Ok(())
    }

    /// The thread's number in `0:r0` or `P0:r0`, if one of them comes next; it and the colon are taken.
    pub(super) fn thread_prefix(&mut self) -> Result<Option<usize>> {
        let thread = match self.peek().kind {
            Kind::Number(number) => usize::try_from(number).unwrap_or(usize::MAX),
            Kind::Name(name) if self.peek_at(1).kind.is(":") => match thread_name(name) {
                Some(thread) => thread,
                None => return Ok(None),
            },
            Kind::Name(_) | Kind::Punct(_) | Kind::End => return Ok(None),
        };
        self.advance();
        self.expect(":")?;
        Ok(Some(thread))
    }
}
