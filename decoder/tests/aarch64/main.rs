//! Tests of the AArch64 decoder: the table of forms, real libraries against a second decoder, and random words.

mod fuzz;
mod libraries;
mod notation;
mod opinion;
mod table;
