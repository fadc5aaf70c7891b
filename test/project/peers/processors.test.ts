import {spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {keepTo, processorList, processorsByCore} from '../../../bench/peers/processors.js'

const linux = process.platform === 'linux' && spawnSync('taskset', ['--version']).status === 0
const allowed = () =>
  /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!

describe('processors', () => {
  it('are read as Linux lists them', () => {
    expect(processorList('0')).toEqual([0])
    expect(processorList('0-2,5,8-9')).toEqual([0, 1, 2, 5, 8, 9])
  })

  it('stand on cores of their own first', () => {
    // two cores of two: 0 and 1 share one where neighbours are siblings
    const neighbours = (processor: number) => (processor < 2 ? '0-1' : '2-3')
    expect(processorsByCore([0, 1, 2, 3], neighbours)).toEqual([0, 2, 1, 3])
    const halves = (processor: number) => (processor % 2 === 0 ? '0,2' : '1,3')
    expect(processorsByCore([0, 1, 2, 3], halves)).toEqual([0, 1, 2, 3])
    expect(processorsByCore([1, 3, 2], neighbours)).toEqual([1, 3, 2])
    expect(processorsByCore([4, 5], () => undefined)).toEqual([4, 5])
    expect(processorsByCore(null)).toBeNull()
  })

  it.skipIf(!linux)('hold every thread of the process, and what it starts', () => {
    const before = processorsByCore()!
    try {
      expect(keepTo([before[0]!])).toBe(true)
      expect(processorList(allowed())).toEqual([before[0]])
      const child = spawnSync('taskset', ['-cp', `${process.pid}`], {encoding: 'utf8'})
      expect(child.stdout.trim()).toMatch(new RegExp(`: ${before[0]}$`))
      expect(keepTo([100_000])).toBe(false)
    } finally {
      keepTo(before)
    }
  })
})
