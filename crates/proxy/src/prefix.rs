//! Prefixes of IP addresses: `203.0.113.0/24`, `2001:db8::/32`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

/// A prefix without host bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Reasons why a text is no prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// No address before the slash.
    #[error("no IP address stands before the `/`")]
    Address,
    /// No length after the slash.
    #[error("the length is a number from 0 to {0}")]
    Length(u8),
    /// Bits behind the length.
    #[error("it has bits behind its length; its subnet is {0}")]
    HostBits(Prefix),
}

impl Prefix {
    /// Number of leading bits that count.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Returns true for IPv4.
    pub const fn is_v4(self) -> bool {
        self.address.is_ipv4()
    }

    /// Returns true if the address is in the subnet.
    pub fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && masked(address, self.length) == masked(self.address, self.length)
    }

    /// Returns true if every address of `other` is in the subnet.
    pub fn includes(self, other: Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }
}

/// The leading bits of an address, as a number of 128 bits.
fn masked(address: IpAddr, length: u8) -> u128 {
    let bits = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    bits & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| PrefixError::Address)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(longest), |text| {
            text.parse().ok().filter(|n| *n <= longest).ok_or(PrefixError::Length(longest))
        })?;
        let bits = masked(address, length);
        let subnet = match address {
            IpAddr::V4(_) => IpAddr::V4(((bits >> 96) as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        let prefix = Self { address: subnet, length };
        if subnet == address { Ok(prefix) } else { Err(PrefixError::HostBits(prefix)) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_and_compared() {
        let read = |text: &str| text.parse::<Prefix>();
        let eight = read("10.0.0.0/8").unwrap();
        assert!(eight.contains("10.255.0.1".parse().unwrap()));
        assert!(!eight.contains("11.0.0.1".parse().unwrap()));
        assert!(!eight.contains("::".parse().unwrap()));
        assert!(eight.includes(read("10.1.0.0/16").unwrap()));
        assert!(!read("10.1.0.0/16").unwrap().includes(eight));
        assert!(read("0.0.0.0/0").unwrap().includes(eight));
        assert!(read("2001:db8::/32").unwrap().contains("2001:db8:1::1".parse().unwrap()));
        assert_eq!(read("192.0.2.7").unwrap().to_string(), "192.0.2.7/32");
        assert_eq!(read("10.0.0.1/8"), Err(PrefixError::HostBits(eight)));
        assert_eq!(read("10.0.0.0/33"), Err(PrefixError::Length(32)));
        assert_eq!(read("ten/8"), Err(PrefixError::Address));
    }
}
