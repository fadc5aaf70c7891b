/** The processors that all engines of a case run on: the same ones, on cores of their own as long as there are some. */
import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'

/**
 * Processors that this process may use, one of each core first; `null` where the system does not tell.
 *
 * @param siblingsOf - the processors of a processor's core as Linux lists them (`0,4`); by default what /sys tells
 */
export function processorsByCore(
  allowed = allowedProcessors(),
  siblingsOf: (processor: number) => string | undefined = siblingsInSys,
): number[] | null {
  if (allowed === null) return null
  const seen = new Set<string>()
  const [first, rest]: number[][] = [[], []]
  for (const processor of allowed) {
    const core = siblingsOf(processor) ?? `${processor}`
    ;(seen.has(core) ? rest : first)!.push(processor)
    seen.add(core)
  }
  return [...first!, ...rest!]
}

/**
 * Keeps all threads of this process to processors, those it starts later and its children included.
 *
 * @returns whether they are kept: there is no taskset on other systems than Linux
 */
export function keepTo(processors: readonly number[]): boolean {
  try {
    const list = processors.join(',')
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', list, `${process.pid}`], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}

/** A list of Linux in numbers: `0-2,5` is 0, 1, 2 and 5. */
export function processorList(text: string): number[] {
  return text.split(',').flatMap(part => {
    const [from, to = from] = part.split('-').map(Number) as [number, number?]
    return Array.from({length: to - from + 1}, (_, i) => from + i)
  })
}

function allowedProcessors(): number[] | null {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(textOf('/proc/self/status') ?? '')?.[1]
  return list === undefined ? null : processorList(list)
}

function siblingsInSys(processor: number): string | undefined {
  return textOf(`/sys/devices/system/cpu/cpu${processor}/topology/thread_siblings_list`)?.trim()
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
