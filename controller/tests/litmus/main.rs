//! The built program, end to end: exit statuses, streams, JSON, and answers.

mod answers;
mod input;
mod output;
mod sampling;
mod support;
