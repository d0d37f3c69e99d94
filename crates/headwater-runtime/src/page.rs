//! Signed page cursors: only cursors issued by this server are accepted.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_store::Secret;

use crate::{Error, Result, error::ErrorKind};

/// Size of the signature, which comes first.
const TAG: usize = 16;

/// Encodes the cursor of the entry with this time and name.
pub fn seal_page(secret: &Secret, list: &str, owner: Option<&str>, time: u64, name: &str) -> String {
    let place = format!("{time}/{name}");
    let mut bytes = sign(secret, list, owner, &place).to_vec();
    bytes.extend_from_slice(place.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes a `next` cursor, if it was issued for this list of this owner.
///
/// # Errors
/// [`ErrorKind::Input`] when it was not.
pub fn open_page(secret: &Secret, list: &str, owner: Option<&str>, next: &str) -> Result<(u64, String)> {
    let read = || {
        let bytes = URL_SAFE_NO_PAD.decode(next).ok()?;
        let (tag, place) = bytes.split_at_checked(TAG)?;
        let place = std::str::from_utf8(place).ok()?;
        if !secret.verify(&parts(list, &owner_part(owner), place), tag) {
            return None;
        }
        let (time, name) = place.split_once('/')?;
        Some((time.parse().ok()?, name.to_owned()))
    };
    read().ok_or_else(|| {
        let message = format!("`after` is not the `next` of a page of {list}: leave it out to begin anew");
        Error::new(ErrorKind::Input, message).with_code("page.invalid")
    })
}

fn sign(secret: &Secret, list: &str, owner: Option<&str>, place: &str) -> [u8; TAG] {
    secret.sign(&parts(list, &owner_part(owner), place))
}

fn owner_part(owner: Option<&str>) -> String {
    owner.map_or_else(String::new, |owner| format!("={owner}"))
}

fn parts<'a>(list: &'a str, owner: &'a str, place: &'a str) -> [&'a [u8]; 4] {
    [b"page", list.as_bytes(), owner.as_bytes(), place.as_bytes()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_is_accepted_for_its_own_list_and_owner_only() {
        let secret = Secret::from_bytes([7; 32]);
        let next = seal_page(&secret, "runs", Some("ann"), 7, "run_1/x");
        assert_eq!(open_page(&secret, "runs", Some("ann"), &next).unwrap(), (7, "run_1/x".to_owned()));
        for (list, owner) in [("sessions", Some("ann")), ("runs", Some("bob")), ("runs", None)] {
            assert_eq!(open_page(&secret, list, owner, &next).unwrap_err().code(), "page.invalid");
        }
        let other = Secret::from_bytes([8; 32]);
        assert!(open_page(&other, "runs", Some("ann"), &next).is_err());
        for at in 0..next.len() {
            let mut changed = next.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            let opened = open_page(&secret, "runs", Some("ann"), &changed);
            assert!(opened.is_err() || changed == next, "{changed}");
        }
        assert!(open_page(&secret, "runs", Some("ann"), "").is_err());
    }
}
