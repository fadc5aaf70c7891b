/** What one calibration is. */
import type {Row} from './rows.js'

/** Measures, and prints the cases on stderr. @param words - typed behind the name */
export type Calibration = (
  words: readonly string[],
  flags: {
    quick: boolean
    /** Numbers of threads, by commas. */
    threads: string
    /** Folder of what is measured once. */
    cache?: string | undefined
  },
) => Promise<{
  rows: readonly Row[]
  /** What `--json` and `--output` write. Default: the rows */
  report?: object | undefined
}>

/** Measures the cases with a name that has one of some words in it; all of them where there are none. */
export async function each<Case extends {name: string}, Found>(
  cases: readonly Case[],
  words: readonly string[],
  measure: (given: Case) => Promise<Found>,
): Promise<Found[]> {
  const found: Found[] = []
  for (const given of cases) {
    if (words.length > 0 && !words.some(word => given.name.includes(word))) continue
    process.stderr.write(`${given.name}\n`)
    found.push(await measure(given))
  }
  return found
}
