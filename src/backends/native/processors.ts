/** Which processors the threads of a benchmark are kept on. */
import {readFileSync} from 'node:fs'

/** Where Linux describes this process, and the machine's processors. */
const ROOTS = {process: '/proc/self', processors: '/sys/devices/system/cpu'}

/**
 * Processors for threads that each keep to one, from that on which this thread runs: first of cores that are not taken yet,
 * then their other halves.
 *
 * @param count - threads
 * @returns numbers of the system, one for each thread; `undefined` where the system lists none, or fewer that this
 * process may use
 */
export function processorsFor(count: number, roots = ROOTS): number[] | undefined {
  const allowed = numbersOf(lineOf(`${roots.process}/status`, /^Cpus_allowed_list:\s*(.+)$/m))
  if (allowed.length < count) return undefined
  const first = Math.max(0, allowed.indexOf(currentOf(`${roots.process}/stat`)))
  const inOrder = [...allowed.slice(first), ...allowed.slice(0, first)]
  const cores = new Set<number>()
  const [own, shared]: [number[], number[]] = [[], []]
  for (const processor of inOrder) {
    const halves = numbersOf(
      lineOf(`${roots.processors}/cpu${processor}/topology/thread_siblings_list`, /^(.+)$/m),
    )
    const core = halves[0] ?? processor
    if (cores.has(core)) shared.push(processor)
    else own.push(processor)
    cores.add(core)
  }
  return [...own, ...shared].slice(0, count)
}

/** The first group of a pattern in a file; empty where either is missing. */
function lineOf(path: string, pattern: RegExp): string {
  try {
    return pattern.exec(readFileSync(path, 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

/** The processor that the main thread was on last: field 39, counted from behind the name, which may hold anything. */
function currentOf(path: string): number {
  const fields = lineOf(path, /.*\) (.+)/).split(' ')
  return Number(fields[36] ?? Number.NaN)
}

/** Numbers of a list as Linux writes it: `0-3,8,10-11`. */
function numbersOf(list: string): number[] {
  return list.split(',').flatMap(part => {
    const [start, end = start] = part.split('-').map(Number)
    if (part === '' || !Number.isInteger(start) || !Number.isInteger(end)) return []
    return Array.from({length: end! - start! + 1}, (_, i) => start! + i)
  })
}
