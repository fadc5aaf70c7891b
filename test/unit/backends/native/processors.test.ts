import {mkdirSync, mkdtempSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {processorsFor} from '../../../../src/backends/native/processors.js'

/** Files as Linux writes them, of a process on one of the processors it may use. */
function system({
  allowed,
  current,
  siblings,
}: {
  allowed: string
  current: number
  siblings: string[]
}) {
  const root = mkdtempSync(join(tmpdir(), 'rfa-processors-'))
  const roots = {process: join(root, 'self'), processors: join(root, 'cpu')}
  mkdirSync(roots.process)
  writeFileSync(
    join(roots.process, 'status'),
    `Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${allowed}\n`,
  )
  const behind = Array.from({length: 36}, (_, i) => i + 3).join(' ')
  writeFileSync(join(roots.process, 'stat'), `12 (a (b) 7) ${behind} ${current} 0 0\n`)
  siblings.forEach((list, i) => {
    const folder = join(roots.processors, `cpu${i}/topology`)
    mkdirSync(folder, {recursive: true})
    writeFileSync(join(folder, 'thread_siblings_list'), `${list}\n`)
  })
  return roots
}

const apart = (count: number) => Array.from({length: count}, (_, i) => String(i))

describe('processorsFor', () => {
  it('begins where this thread runs, and goes round', () => {
    const roots = system({allowed: '0-3', current: 2, siblings: apart(4)})
    expect(processorsFor(2, roots)).toEqual([2, 3])
    expect(processorsFor(4, roots)).toEqual([2, 3, 0, 1])
  })

  it('takes whole cores before second halves', () => {
    const neighbours = system({allowed: '0-3', current: 0, siblings: ['0-1', '0-1', '2-3', '2-3']})
    expect(processorsFor(2, neighbours)).toEqual([0, 2])
    expect(processorsFor(3, neighbours)).toEqual([0, 2, 1])
    const halves = system({allowed: '0-3', current: 3, siblings: ['0,2', '1,3', '0,2', '1,3']})
    expect(processorsFor(2, halves)).toEqual([3, 0])
  })

  it('takes only what this process may use', () => {
    const roots = system({allowed: '1,4-5,7', current: 0, siblings: apart(8)})
    expect(processorsFor(3, roots)).toEqual([1, 4, 5])
  })

  it('takes none where there are too few, or where the system does not tell', () => {
    expect(
      processorsFor(3, system({allowed: '0-1', current: 0, siblings: apart(2)})),
    ).toBeUndefined()
    expect(processorsFor(1, {process: '/nowhere', processors: '/nowhere'})).toBeUndefined()
  })

  it('does without cores where the system does not tell of them', () => {
    expect(processorsFor(2, system({allowed: '0-1', current: 1, siblings: []}))).toEqual([1, 0])
  })
})
