import {totalmem} from 'node:os'
import {describe, expect, it, vi} from 'vitest'
import {heldBytes, readMemory} from '../../src/free-memory.js'
import {assertMemory} from '../../src/inputs/memory.js'

const MIB = 2 ** 20
const GIB = 2 ** 30

/** Bytes of unused pages. */
const UNUSED = vi.hoisted(() => 5 * 2 ** 20)
vi.mock('node:os', async original => ({
  ...(await original<typeof import('node:os')>()),
  freemem: () => UNUSED,
}))

/** A machine with so much available and these other files. */
const files = (others: Record<string, string> = {}, available = GIB) => {
  const all: Record<string, string> = {
    '/proc/meminfo': `MemTotal: 99 kB\nMemFree: 7 kB\nMemAvailable: ${available / 1024} kB\n`,
    ...others,
  }
  return (path: string) => all[path]
}

describe('readMemory', () => {
  it('takes what is available, with the files kept in memory, not what is unused', () => {
    expect(readMemory(files())).toEqual({total: totalmem(), free: GIB})
  })

  it('leaves a group of version 2 its limit less its use, kept files not counted as used', () => {
    const read = files({
      '/proc/self/cgroup': '0::/jobs/one\n',
      '/sys/fs/cgroup/jobs/one/memory.max': `${260 * MIB}\n`,
      '/sys/fs/cgroup/jobs/one/memory.current': `${100 * MIB}\n`,
      '/sys/fs/cgroup/jobs/one/memory.stat': `anon 1\ninactive_file ${30 * MIB}\n`,
    })
    expect(readMemory(read)).toEqual({total: 260 * MIB, free: 190 * MIB})
  })

  it('does the same for version 1, seen from inside a container too', () => {
    const read = files({
      '/proc/self/cgroup': '5:cpuset:/x\n4:cpu,memory:/docker/abc\n0::/\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${500 * MIB}\n`,
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': `${450 * MIB}\n`,
      '/sys/fs/cgroup/memory/memory.stat': `inactive_file 1\ntotal_inactive_file ${50 * MIB}\n`,
    })
    expect(readMemory(read)).toEqual({total: 500 * MIB, free: 100 * MIB})
  })

  it('holds the limits of outer groups for inner ones', () => {
    const read = files({
      '/proc/self/cgroup': '0::/outer/inner\n',
      '/sys/fs/cgroup/outer/inner/memory.max': 'max\n',
      '/sys/fs/cgroup/outer/inner/memory.current': '1\n',
      '/sys/fs/cgroup/outer/memory.max': `${300 * MIB}\n`,
      '/sys/fs/cgroup/outer/memory.current': `${400 * MIB}\n`,
    })
    expect(readMemory(read)).toEqual({total: 300 * MIB, free: 0})
  })

  it('takes all to be free where Node counts unused pages alone', () => {
    for (const platform of ['darwin', 'freebsd'] as const) {
      expect(readMemory(() => undefined, platform).free).toBe(totalmem())
    }
    expect(readMemory(() => undefined, 'win32').free).toBe(UNUSED)
  })

  it('does without any of the files', () => {
    const {total, free} = readMemory(() => undefined)
    expect(total).toBe(totalmem())
    expect(free).toBeGreaterThan(0)
    expect(free).toBeLessThanOrEqual(total)
  })
})

describe('assertMemory', () => {
  const memory = () => ({total: 2 * MIB, free: MIB})

  it('refuses more than is free', () => {
    expect(() => assertMemory('x', MIB, undefined, memory)).not.toThrow()
    expect(() => assertMemory('x', MIB + 1, 'try less', memory)).toThrow(
      expect.objectContaining({
        code: 'TOO_LARGE',
        message: `x: expected arrays that fit into the ${MIB} bytes of available memory, got ${MIB + 1} bytes`,
        suggestions: ['try less'],
      }),
    )
  })

  it('asks the machine as plans do', () => {
    const {free} = readMemory()
    expect(() => assertMemory('x', free + 64 * GIB)).toThrow('bytes of available memory')
    expect(() => assertMemory('x', 1)).not.toThrow()
  })
})

describe('heldBytes', () => {
  it('is what a process holds for itself alone', () => {
    const status = 'VmRSS:\t   90000 kB\nRssAnon:\t   50000 kB\nRssFile:\t   40000 kB\n'
    expect(heldBytes(path => (path === '/proc/self/status' ? status : undefined))).toBe(51_200_000)
    const rss = process.memoryUsage.rss()
    expect(heldBytes(() => undefined)).toBeGreaterThan(rss / 2)
  })
})
