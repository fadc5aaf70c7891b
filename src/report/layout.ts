/** How wide and how colourful an output may be. */
export interface Layout {
  /** Columns that a line may take. */
  width: number
  /** Whether escape sequences are welcome. */
  colour: boolean
  /** Nobody reads a screen: tables keep every column, in lines as long as that takes. Default: false. */
  whole?: boolean
}

/** Columns of text where no screen says how many there are. */
const USUAL_WIDTH = 120

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
export function layoutOf(
  {isTTY = false, columns = 0}: Output,
  environment: Readonly<Record<string, string | undefined>>,
): Layout {
  const colour = isTTY && !environment.NO_COLOR
  const width = isTTY && columns > 0 ? columns : askedFor(environment.COLUMNS)
  return {width: width ?? USUAL_WIDTH, colour, whole: width === undefined}
}

function askedFor(columns: string | undefined): number | undefined {
  return columns !== undefined && /^[1-9]\d{0,5}$/.test(columns) ? Number(columns) : undefined
}
