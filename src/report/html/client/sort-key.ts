/** What cells of tables are sorted by: numbers with their units as numbers, whatever else as text. */

/** In nanoseconds, and in bytes. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  ms: 1e6,
  s: 1e9,
  min: 60e9,
  h: 3600e9,
  days: 86_400e9,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  PiB: 2 ** 50,
}

/** A number, perhaps after a sign of comparison, its unit, and then nothing or what is said of it. */
const NUMBER =
  /^[<>≤≥~]?\s*([-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?)(?:\s?(ns|us|ms|s|min|h|days|B|KiB|MiB|GiB|TiB|PiB))?(?=$|[\s[(;,x%])/

/** What stands where there is no value. */
const NOTHING = new Set(['', '-'])

/** The number that a cell begins with, in the smallest unit of its kind; `undefined` where it begins with none. */
export function numberOf(text: string): number | undefined {
  const [, digits, unit] = NUMBER.exec(text.trim()) ?? []
  if (digits === undefined) return undefined
  const value = Number(digits.replaceAll(',', '').replace('−', '-'))
  return unit === undefined ? value : value * UNITS[unit]!
}

const words = new Intl.Collator('en', {numeric: true})

/**
 * The order of cells: as numbers where every cell that has a value begins with one, else as text. Cells without a value
 * stay behind, cells alike in the order in which they came.
 *
 * @param cells - texts of one column
 * @param direction - 1: smallest first; -1: largest first
 * @returns places of the cells
 */
export function sortedPlaces(cells: readonly string[], direction: 1 | -1): number[] {
  const places = [...cells.keys()]
  const missing = cells.map(cell => NOTHING.has(cell.trim()))
  const numbers = cells.map(numberOf)
  const numeric = cells.every((_, at) => missing[at] || numbers[at] !== undefined)
  const compared = (a: number, b: number) =>
    numeric ? numbers[a]! - numbers[b]! : words.compare(cells[a]!, cells[b]!)
  return places.sort((a, b) => {
    if (missing[a] || missing[b]) return Number(missing[a]) - Number(missing[b])
    return direction * compared(a, b)
  })
}
