//! Reads a JSON array of chunks as JSON lines.
//!
//! Bytes are replaced in place, never added or removed, so that offsets in messages still refer to the
//! document: the outer brackets become blanks, the commas between chunks become line ends, and line ends
//! within a chunk become blanks.

/// Turns one array into lines; input may arrive in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct ArrayLines {
    depth: usize,
    string: bool,
    escaped: bool,
    closed: bool,
}

impl ArrayLines {
    pub(super) fn rewrite(&mut self, piece: &mut [u8]) {
        for byte in piece {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: &mut u8) {
        if self.closed {
            return;
        }
        if self.string {
            match *byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.string = false,
                _ => {}
            }
            return;
        }
        match *byte {
            b'"' => self.string = true,
            b'[' | b'{' => {
                self.depth += 1;
                if self.depth == 1 {
                    *byte = b' ';
                }
            }
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    *byte = b'\n';
                    self.closed = true;
                }
            }
            b',' if self.depth == 1 => *byte = b'\n',
            b'\n' | b'\r' if self.depth > 1 => *byte = b' ',
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_becomes_lines_wherever_it_is_split() {
        let document = "\n[\n  {\"a\": [1,\n 2]},\r\n  {\"b\": \"x],\\\"[\"} , 3 ]\n{\"after\":[1,2]}";
        let mut whole = document.as_bytes().to_vec();
        ArrayLines::default().rewrite(&mut whole);
        let lines: Vec<_> = whole
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .collect();
        let expected: [&[u8]; 4] =
            [b"{\"a\": [1,  2]}", b"{\"b\": \"x],\\\"[\"}", b"3", b"{\"after\":[1,2]}"];
        assert_eq!(lines, expected);
        assert_eq!(whole.len(), document.len());

        for cut in 0..=document.len() {
            let mut pieces = document.as_bytes().to_vec();
            let (left, right) = pieces.split_at_mut(cut);
            let mut array = ArrayLines::default();
            array.rewrite(left);
            array.rewrite(right);
            assert_eq!(pieces, whole, "cut at {cut}");
        }
    }
}
