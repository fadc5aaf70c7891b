/** Lists as sentences have them. */

/** Names that a sentence takes before it counts the others. */
const MOST_NAMES = 5
/** Numbers that a sentence lists before it gives their range. */
const MOST_NUMBERS = 4

/** `a`, `a and b`, `a, b and c`, `a, b, c, d and 3 more`. @param most - names that are shown; the others are counted */
export function listed(names: readonly string[], most = MOST_NAMES): string {
  if (names.length > most)
    return `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`
  const [last = '', ...before] = [...names].reverse()
  return before.length > 0 ? `${before.reverse().join(', ')} and ${last}` : last
}

/** `64 and 256 tokens`; of many `1 to 2500 tokens (2500 values)`. @param unit - what stands behind them, if anything */
export function numbersListed(numbers: readonly number[], unit = ''): string {
  const sorted = numbers.toSorted((a, b) => a - b)
  const behind = unit === '' ? '' : ` ${unit}`
  if (sorted.length <= MOST_NUMBERS) return `${listed(sorted.map(String))}${behind}`
  return `${sorted[0]} to ${sorted.at(-1)}${behind} (${sorted.length} values)`
}

/** A time of ISO 8601 as people write it: `22 November 2026, 19:39 UTC`. */
export function dateText(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return iso
  const day = date.toLocaleDateString('en-GB', {
    ...{day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC'},
  })
  return `${day}, ${iso.slice(11, 16)} UTC`
}

/** `a; b; and 3 more`. @param most - names that are shown; the others are counted */
export function firstOf(names: readonly string[], most: number): string {
  const rest = names.length - most
  return [...names.slice(0, most), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')
}

/** A name without its middle where it is longer than that: `favor-pos (perfor...-pytorch)`. */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name
  const kept = most - '...'.length
  const before = Math.ceil(kept / 2)
  return `${name.slice(0, before)}...${name.slice(name.length - (kept - before))}`
}

/** A text without its end where it is longer than that. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 3)}...`
}

/** A text with a capital at its beginning. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
