/** How wide and how colourful an output may be. */
export interface Layout {
  /** Columns that a line may take. */
  width: number
  /** Whether escape sequences are welcome. */
  colour: boolean
  /** The output is not a screen: tables keep every column, in lines of any length. Default: false. */
  whole?: boolean
  /** Whether there are more characters than those of Western text; else marks are ASCII. Default: false. */
  unicode?: boolean
}

/** Columns of text where no screen says how many there are. */
const USUAL_WIDTH = 120

type Environment = Readonly<Record<string, string | undefined>>

/** As much of an output stream as decides its layout. */
interface Output {
  isTTY?: boolean
  /** 0 on terminals that do not know. */
  columns?: number
}

/**
 * The layout of what goes to a stream. A terminal says how wide it is; elsewhere a `COLUMNS` of the environment
 * counts as one that somebody reads.
 */
export function layoutOf({isTTY = false, columns = 0}: Output, environment: Environment): Layout {
  const colour = isTTY && !environment.NO_COLOR
  const width = isTTY && columns > 0 ? columns : askedFor(environment.COLUMNS)
  const unicode = showsUnicode(environment)
  return {width: width ?? USUAL_WIDTH, colour, whole: width === undefined, unicode}
}

/**
 * Whether the locale is one of UTF-8, and the terminal neither dumb nor the console of Linux: its fonts lack stars
 * and Braille.
 */
export function showsUnicode({LC_ALL, LC_CTYPE, LANG, TERM, WT_SESSION}: Environment): boolean {
  if (TERM === 'dumb' || TERM === 'linux') return false
  const locale = LC_ALL || LC_CTYPE || LANG || ''
  return /utf-?8/i.test(locale) || WT_SESSION !== undefined // of Windows Terminal, which has no such variables
}

/** A line in bold, by escape sequences. */
export function bold(line: string): string {
  return `\u001b[1m${line}\u001b[22m`
}

function askedFor(columns: string | undefined): number | undefined {
  return columns !== undefined && /^[1-9]\d{0,5}$/.test(columns) ? Number(columns) : undefined
}
