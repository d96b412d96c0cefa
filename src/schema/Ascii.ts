const beyondAscii = /[^\0-\x7f]/
const upper = /[A-Z]+/g

/** Lower case of the letters A to Z alone, as ClickHouse's `lower` does on bytes; all other characters stay. */
export const asciiLower = (text: string): string =>
  beyondAscii.test(text) ? text.replace(upper, (letters) => letters.toLowerCase()) : text.toLowerCase()
