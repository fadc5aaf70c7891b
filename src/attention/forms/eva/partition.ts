/**
 * Windows and chunks: which keys a query sees one by one and which only as chunks. Positions lie on a
 * grid, row by row; a sequence is a grid of one row.
 */

/** From `start` to `end` (excluded). */
interface Interval {
  start: number
  end: number
}

export interface PartitionOptions {
  /** Rows and columns; a sequence of N tokens is `[1, N]`. */
  grid: readonly [number, number]
  /** Side of a window, in tokens. */
  window: number
  /** Side of a chunk, in tokens. */
  chunkSize: number
  /** How far keys seen one by one go beyond the window, on each side (causal: before it). */
  reach: number
  /** Only for one row. */
  causal: boolean
  /**
   * `true`: windows are widened to whole chunks, which are then not seen as chunks: each key counts
   * once. `false`: keys of the window are in their chunks as well, and bidirectional chunks reach as far
   * beyond their borders as windows do.
   */
  once: boolean
  /** Chunks cover whole windows, with tokens beyond the end; those left over have no chunk. */
  wholeWindows: boolean
}

/** Queries that see the same keys, but for causality among themselves. */
export interface Block {
  /** Positions of its queries. */
  queries: number[]
  /** Positions of the keys seen one by one; causal: without those of the block. */
  keys: number[]
  /** Which chunks it sees. */
  sees(chunk: number): boolean
}

export interface Partition {
  blocks: Block[]
  /** Positions in each chunk; -1 for tokens beyond the grid. */
  chunks: number[][]
}

/** Cuts a grid into blocks of queries and chunks of keys. */
export function partition(options: PartitionOptions): Partition {
  return options.causal ? causalPartition(options) : gridPartition(options)
}

interface AxisCuts {
  windows: Interval[]
  /** Of each window, what is seen one by one. */
  exact: Interval[]
  chunks: Interval[]
}

function cutAxis(
  length: number,
  {window, chunkSize, reach, once, wholeWindows}: PartitionOptions,
): AxisCuts {
  const count = Math.ceil(length / window)
  const windows = Array.from({length: count}, (_, i) => ({
    start: i * window,
    end: Math.min(length, (i + 1) * window),
  }))
  const exact = windows.map(({start}) => {
    const from = Math.max(0, start - reach)
    const to = Math.min(length, start + window + reach)
    if (!once) return {start: from, end: to}
    // whole chunks only: one that is seen key by key must not be seen as a chunk besides
    return {
      start: floorTo(from, chunkSize),
      end: Math.min(length, Math.ceil(to / chunkSize) * chunkSize),
    }
  })
  const chunkCount = wholeWindows
    ? Math.floor((count * window) / chunkSize)
    : Math.ceil(length / chunkSize)
  const beyond = once ? 0 : reach
  const chunks = Array.from({length: chunkCount}, (_, k) => ({
    start: k * chunkSize - beyond,
    end: (k + 1) * chunkSize + beyond,
  }))
  return {windows, exact, chunks}
}

function gridPartition(options: PartitionOptions): Partition {
  const {grid, once} = options
  const rows = cutAxis(grid[0], grid[0] === 1 ? {...options, ...SINGLE_ROW} : options)
  const columns = cutAxis(grid[1], options)
  const blocks = pairs(rows.windows.length, columns.windows.length).map(([r, c]) => {
    const [exactRows, exactColumns] = [rows.exact[r]!, columns.exact[c]!]
    const inside = (chunk: number) => {
      const chunkRow = rows.chunks[Math.floor(chunk / columns.chunks.length)]!
      const chunkColumn = columns.chunks[chunk % columns.chunks.length]!
      return overlap(chunkRow, exactRows) && overlap(chunkColumn, exactColumns)
    }
    return {
      queries: positions(rows.windows[r]!, columns.windows[c]!, grid),
      keys: positions(exactRows, exactColumns, grid),
      sees: (chunk: number) => !once || !inside(chunk),
    }
  })
  const chunks = pairs(rows.chunks.length, columns.chunks.length).map(([r, c]) =>
    positions(rows.chunks[r]!, columns.chunks[c]!, grid),
  )
  return {blocks, chunks}
}

const SINGLE_ROW = {window: 1, chunkSize: 1, reach: 0}

function causalPartition(options: PartitionOptions): Partition {
  const {grid, window, chunkSize, reach, once, wholeWindows} = options
  const length = grid[1]
  const blocks: Block[] = []
  for (let start = 0; start < length; ) {
    const windowEnd = floorTo(start, window) + window
    const chunkEnd = floorTo(start, chunkSize) + chunkSize
    // all queries of a block see the same earlier keys and chunks: it ends where either changes
    const end = Math.min(length, windowEnd, once ? windowEnd : chunkEnd)
    const {keyStart, chunkCount} = causalView(start, {window, chunkSize, reach, once})
    blocks.push({
      queries: range(start, end),
      keys: range(keyStart, start),
      sees: chunk => chunk < chunkCount,
    })
    start = end
  }
  const {chunks} = cutAxis(length, {...options, reach: 0, wholeWindows})
  return {blocks, chunks: chunks.map(({start, end}) => positions(ROW, {start, end}, grid))}
}

const ROW = {start: 0, end: 1}

/** What the query at `position` sees: the first key seen one by one, and how many chunks. */
export function causalView(
  position: number,
  {window, chunkSize, reach, once}: Omit<PartitionOptions, 'grid' | 'causal' | 'wholeWindows'>,
): {keyStart: number; chunkCount: number} {
  const from = Math.max(0, floorTo(position, window) - reach)
  if (!once) return {keyStart: from, chunkCount: Math.floor(position / chunkSize)}
  // keys from the start of a chunk on; the chunks before it are seen as such, and no token twice
  const keyStart = floorTo(from, chunkSize)
  return {keyStart, chunkCount: keyStart / chunkSize}
}

function floorTo(x: number, step: number): number {
  return Math.floor(x / step) * step
}

function overlap(a: Interval, b: Interval): boolean {
  return a.start < b.end && b.start < a.end
}

function range(start: number, end: number): number[] {
  return Array.from({length: end - start}, (_, i) => start + i)
}

function pairs(rows: number, columns: number): [number, number][] {
  return range(0, rows).flatMap(r => range(0, columns).map((c): [number, number] => [r, c]))
}

/** Positions of a rectangle, row by row; -1 beyond the grid. */
function positions(
  rows: Interval,
  columns: Interval,
  [height, width]: readonly [number, number],
): number[] {
  return range(rows.start, rows.end).flatMap(r =>
    range(columns.start, columns.end).map(c =>
      r < 0 || r >= height || c < 0 || c >= width ? -1 : r * width + c,
    ),
  )
}
