/** How much memory there is and how much of it is free: the machine's, or less where a control group says so. */
import {readFileSync} from 'node:fs'
import {freemem, totalmem} from 'node:os'

/** Bytes. */
export interface Memory {
  total: number
  /** What processes can still take: files that are kept in memory only as long as there is room count as free. */
  free: number
}

/** The text of a file, `undefined` where it cannot be read. */
export type ReadText = (path: string) => string | undefined

/**
 * Memory of this machine and, on Linux, of the control groups around this process (container, batch job,
 * service): the least of each.
 *
 * @param read - of files under /proc and /sys
 */
export function readMemory(
  read: ReadText = readText,
  platform: NodeJS.Platform = process.platform,
): Memory {
  const groups = controlGroups(read).flatMap(group => limitOf(group, read) ?? [])
  return {
    total: Math.min(totalmem(), ...groups.map(({total}) => total)),
    free: Math.min(availableBytes(read, platform), ...groups.map(({free}) => free)),
  }
}

/**
 * Bytes that end with this process: what it alone holds, without files that it shares with others. All that is
 * resident where the system does not say.
 */
export function heldBytes(read: ReadText = readText): number {
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(read('/proc/self/status') ?? '')
  return match ? Number(match[1]) * 1024 : process.memoryUsage.rss()
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function availableBytes(read: ReadText, platform: NodeJS.Platform): number {
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(read('/proc/meminfo') ?? '')
  if (match) return Number(match[1]) * 1024
  // elsewhere (macOS, BSD) Node counts unused pages alone, a few hundred MB however much caches would give
  // back: better to refuse too little than almost everything
  return platform === 'win32' ? freemem() : totalmem()
}

/** A folder with the files of a control group. */
interface Group {
  folder: string
  version: 1 | 2
}

const ROOTS = {1: '/sys/fs/cgroup/memory', 2: '/sys/fs/cgroup'} as const

/** The groups of this process, innermost first: a limit of an outer one holds for all within. */
function controlGroups(read: ReadText): Group[] {
  const lines = (read('/proc/self/cgroup') ?? '').split('\n')
  return lines.flatMap(line => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return withParents(path, 2)
    return controllers!.split(',').includes('memory') ? withParents(path, 1) : []
  })
}

function withParents(path: string, version: 1 | 2): Group[] {
  const names = path.split('/').filter(name => name !== '')
  return Array.from({length: names.length + 1}, (_, above) => ({
    folder: [ROOTS[version], ...names.slice(0, names.length - above)].join('/'),
    version,
  }))
}

const FILES = {
  1: {limit: 'memory.limit_in_bytes', usage: 'memory.usage_in_bytes', cache: 'total_inactive_file'},
  2: {limit: 'memory.max', usage: 'memory.current', cache: 'inactive_file'},
} as const

/** Limit of a group and what is left of it; `undefined` without a limit. */
function limitOf({folder, version}: Group, read: ReadText): Memory | undefined {
  const {limit, usage, cache} = FILES[version]
  const total = Number.parseInt(read(`${folder}/${limit}`) ?? '', 10) // "max" is not a number
  const used = Number.parseInt(read(`${folder}/${usage}`) ?? '', 10)
  if (!Number.isFinite(total) || !Number.isFinite(used)) return undefined
  const stat = read(`${folder}/memory.stat`) ?? ''
  const reclaimable = Number(new RegExp(`^${cache} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0)
  return {total, free: Math.max(0, total - Math.max(0, used - reclaimable))}
}
