import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {inputNotes} from '../../../../../src/experiments/error-sweep/report/input-notes.js'
import {errorSweepReport} from '../../../../../src/experiments/error-sweep/report/report.js'
import type {
  CompletedSweep,
  ErrorSweepCell,
} from '../../../../../src/experiments/error-sweep/schema.js'
import {writeArrays} from '../../../../../src/inputs/files/index.js'
import {exchangeAxes, exchanged, type Four} from '../../../../../src/inputs/layout.js'
import type {InputSpec} from '../../../../../src/inputs/spec.js'
import {renderMarkdown} from '../../../../../src/report/markdown.js'
import {hostInputs} from '../../../../helpers/arrays.js'
import {cellsOf} from '../../../../helpers/cells.js'
import {FULL} from '../../../../helpers/effort.js'
import {temporaryFolder} from '../../../../helpers/folders.js'
import * as plans from '../../../../helpers/plans.js'
import {sweep} from '../../../../helpers/records/error-sweep.js'

const NAMES = {query: 'q', key: 'k', value: 'v'}
const file = (path: string): InputSpec => ({kind: 'file', paths: [path], names: NAMES})
const swept = (cell: Partial<ErrorSweepCell>, sizes: object = {}) => {
  const record = sweep(cell) as CompletedSweep
  return {...record, result: {...record.result, ...sizes}}
}

describe('notes on the input of a sweep', () => {
  it('say what a key mask leaves out', () => {
    const sizes = {batch: 2, query_len: 31, key_len: 31, hidden_keys: 7}
    expect(inputNotes(swept({}, {...sizes, judged_queries: 55}))).toEqual([
      expect.stringMatching(/^the key mask hides 7 of 62 keys, .*; as many queries .* no number/),
    ])
    expect(inputNotes(swept({}, {...sizes, query_len: 29, judged_queries: 58}))).toEqual([
      'the key mask hides 7 of 62 keys, which take no part',
    ])
    expect(inputNotes(swept({}, {...sizes, hidden_keys: 0}))).toEqual([])
  })

  it('say that heads are more than tokens, as one types the remedy', () => {
    const sizes = {heads: 31, query_len: 3, key_len: 3}
    const note =
      'read as [B, H, L, D] it has 31 heads and 3 tokens; if its axes are [B, L, H, D], say --layout blhd'
    expect(inputNotes(swept({}, sizes))).toEqual([note])
    const told = {...file('a.npz'), layout: 'blhd'} as InputSpec
    expect(inputNotes(swept({input: told}, sizes))).toEqual([
      expect.stringMatching(/say --layout bhld$/),
    ])
    expect(inputNotes(swept({seq_len: 3}, sizes))).toEqual([]) // the file may have more
    const generated = plans.sweep().input
    expect(inputNotes(swept({input: generated}, sizes))).toEqual([])
  })

  it('stand in the report before its tables', () => {
    const text = renderMarkdown(
      errorSweepReport([swept({}, {heads: 31, query_len: 3, key_len: 3})]),
    )
    const [note, tables] = ['say --layout blhd', 'Inputs, canonical'].map(part =>
      text.indexOf(part),
    )
    expect(note).toBeGreaterThan(0)
    expect(note).toBeLessThan(tables!)
  })
})

describe('a sweep of one input in two layouts', () => {
  const folder = temporaryFolder()

  it.runIf(FULL)('gives the same bits', async () => {
    const {query, key, value} = hostInputs({
      batch: 2,
      heads: 3,
      queryLen: 13,
      keyLen: 13,
      headDim: 5,
      valueDim: 7,
      numFeatures: 11,
    })
    const save = async (path: string, turned: boolean) => {
      const arrays = Object.entries({q: query, k: key, v: value}).map(([name, array]) => {
        const four = [...array.shape] as Four
        const data = Float32Array.from(array.data)
        const stored = turned ? exchangeAxes(data, four, name) : data
        const shape = turned ? exchanged(four) : four
        return [name, {shape, dtype: 'float32' as const, data: stored}] as const
      })
      await writeArrays(path, Object.fromEntries(arrays))
      return file(path)
    }
    const plain = await save(join(folder, 'heads.npz'), false)
    const turned = {...(await save(join(folder, 'tokens.npz'), true)), layout: 'blhd'} as InputSpec
    const outcomes = async (input: InputSpec) => {
      const runs = await cellsOf(plans.sweep({input, seq_lens: [13, 5], causal: true}))
      const all = []
      for (const run of runs) all.push(await run())
      return all
    }
    const left = await outcomes(plain)
    expect(left.length).toBeGreaterThan(20)
    expect(left.every(({status}) => status === 'completed')).toBe(true)
    expect(await outcomes(turned)).toEqual(left)
  })
})
