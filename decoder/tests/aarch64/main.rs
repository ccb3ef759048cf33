//! Tests of the AArch64 decoder: the table of forms, orders, real libraries against a second decoder, random words.

mod fuzz;
mod libraries;
mod marks;
mod notation;
mod opinion;
mod orders;
mod table;
