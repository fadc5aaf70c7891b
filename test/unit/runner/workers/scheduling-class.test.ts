import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {
  realTimeClass,
  requireOrdinaryClass,
} from '../../../../src/runner/workers/scheduling-class.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()

/** What Linux says of a process with a policy; its name is as odd as names may be. */
function statOf(policy: number): string {
  const path = join(folder, `stat-${policy}`)
  const fields = Array.from({length: 50}, (_, at) => (at === 38 ? policy : at))
  writeFileSync(path, `7 (a) b) 1 ${fields.join(' ')}\n`.replace(') 1 0 ', ') S '))
  return path
}

describe('realTimeClass', () => {
  it.each([
    [0, undefined],
    [1, 'SCHED_FIFO'],
    [2, 'SCHED_RR'],
    [3, undefined],
    [5, undefined],
    [6, 'SCHED_DEADLINE'],
  ])('of policy %d is %s', (policy, name) => {
    expect(realTimeClass(statOf(policy))).toBe(name)
  })

  it('is none where the system does not say', () => {
    expect(realTimeClass(join(folder, 'none'))).toBeUndefined()
  })

  it.runIf(process.platform === 'linux')('reads the place where the system has the policy', () => {
    const text = readFileSync('/proc/self/stat', 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    // 50 fields follow the name; the policy stands behind the real-time priority, proc(5)
    expect(fields).toHaveLength(50)
    expect([fields[37], fields[38]]).toEqual(['0', '0'])
    expect(realTimeClass()).toBeUndefined()
  })
})

it('is refused', () => {
  expect(() => requireOrdinaryClass('bench', undefined)).not.toThrow()
  expect(() => requireOrdinaryClass('bench', 'SCHED_FIFO')).toThrow(
    'bench: expected an ordinary scheduling class, got SCHED_FIFO',
  )
})
