const colon = 58
const zero = 48

const isHexDigit = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 97 && code <= 102)

/**
 * Whether the text is surely an IPv6 address in the canonical form of RFC 5952, found in one pass without parsing.
 * Says no to some that are (those that begin or end with `::`): ask `canonicalIp` then.
 */
export const isCanonicalIpv6 = (text: string): boolean => {
  let groups = 0
  let digits = 0
  let first = 0
  let compressed = false
  let zeroBefore = false
  for (let i = 0; i <= text.length; i++) {
    const code = i === text.length ? colon : text.charCodeAt(i)
    if (code !== colon) {
      if (!isHexDigit(code) || ++digits > 4) return false
      if (digits === 1) first = code
      continue
    }
    if (digits === 0) {
      if (compressed || zeroBefore || groups === 0 || i === text.length) return false
      compressed = true
      zeroBefore = true
      continue
    }
    const isZero = first === zero
    if (isZero && (digits > 1 || zeroBefore)) return false
    zeroBefore = isZero
    groups++
    digits = 0
  }
  return compressed ? groups <= 6 : groups === 8
}
