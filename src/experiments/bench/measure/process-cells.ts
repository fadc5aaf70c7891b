/** What of a protocol is divided among processes. */
interface Divided {
  processes?: number | undefined
  min_runs: number
  max_runs: number
  min_time_ns: number
}

/**
 * A cell as each of its processes runs it: its runs and its time are divided among them, but each has the whole warm-up.
 */
export function processCells<Timing extends Divided, Cell extends {timing: Timing}>(
  cell: Cell,
): Cell[] {
  const {processes = 1, min_runs, max_runs, min_time_ns} = cell.timing
  const timing = {
    ...cell.timing,
    processes: undefined,
    min_runs: Math.ceil(min_runs / processes),
    max_runs: Math.ceil(max_runs / processes),
    min_time_ns: min_time_ns / processes,
  }
  return Array.from({length: processes}, () => ({...cell, timing}))
}
