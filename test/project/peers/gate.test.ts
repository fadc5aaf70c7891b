import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {type PassCase, type PeerMethod, SHAPE} from '../../../bench/peers/cases.js'
import {faultOf} from '../../../bench/peers/gate.js'
import {type Inputs, writeInputs} from '../../../bench/peers/inputs.js'
import {ownEngine} from '../../../bench/peers/own.js'
import {judgedRows} from '../../../bench/peers/reference.js'
import {exactAttention} from '../../../src/index.js'
import {runnableBackends} from '../../helpers/backends.js'

const LENGTH = 300
const {heads, headDim} = SHAPE
const METHODS: PeerMethod[] = ['softmax', 'favor-pos', 'rfa', 'elu', 'efficient']
const native = (await runnableBackends()).includes('native')

let folder: string
let inputs: Inputs

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-test-peers-'))
  inputs = writeInputs(folder, LENGTH)
})

afterAll(() => rmSync(folder, {recursive: true}))

function pass(method: PeerMethod, causal: boolean, length = LENGTH): PassCase {
  return {kind: 'attention', method, ...SHAPE, causal, length, flops: 1}
}

describe('the judge of engines', () => {
  it('knows exact attention', () => {
    for (const causal of [false, true]) {
      const array = (data: Float32Array) => ({shape: [1, heads, LENGTH, headDim], data}) as const
      const options = {
        target: {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: ''} as const,
        ...{logitScale: headDim ** -0.5, causal},
      }
      const {query, key, value} = inputs
      const exact = exactAttention(array(query), array(key), array(value), options)
      for (const {head, row, out} of judgedRows(pass('softmax', causal), inputs, {})) {
        const start = (head * LENGTH + row) * headDim
        // two orders of summation in double precision: 300 terms of about 1, 2^-53 each
        out.forEach((entry, d) => {
          expect(Math.abs(entry - exact[start + d]!)).toBeLessThan(2 * LENGTH * 2 ** -53 * 8)
        })
      }
    }
  })

  it('judges both ends of a sequence, for the first and the last head', () => {
    const rows = judgedRows(pass('elu', true), inputs, {})
    for (const head of [0, heads - 1]) {
      const of = rows.filter(judged => judged.head === head).map(({row}) => row)
      expect(of).toEqual(expect.arrayContaining([0, 1, 127, 128, 298, 299]))
    }
  })

  it('bounds what float32 may do far below the outputs', () => {
    for (const method of METHODS) {
      const rows = judgedRows(pass(method, false), inputs, {})
      const worst = Math.max(...rows.flatMap(({bounds}) => [...bounds]))
      const size = Math.sqrt(mean(rows.flatMap(({out}) => [...out].map(entry => entry ** 2))))
      expect(worst).toBeLessThan(0.02 * size)
      expect(worst).toBeGreaterThan(0)
    }
  })
})

describe.skipIf(!native)('the gate', () => {
  it.each(METHODS.flatMap(method => [false, true].map(causal => [method, causal] as const)))(
    'passes %s, causal %s, and refuses what is wrong',
    async (method, causal) => {
      const given = pass(method, causal)
      const output = await outputOf(given, inputs)
      const rows = judgedRows(given, inputs, {})
      const fault = (wrong: Float32Array) => faultOf(wrong, given, rows)
      expect(fault(output)).toBeUndefined()
      expect(fault(await outputOf(pass(method, !causal), inputs))).toMatch(/^expected .* within/)
      expect(fault(output.map(entry => entry * 1.01))).toMatch(/at head 0, row/)
      expect(fault(turned(output))).toMatch(/got/)
      expect(fault(await outputOf(given, {...inputs, key: inputs.query}))).toMatch(/got/)
      expect(fault(spoiled(output, Number.NaN))).toMatch(/^expected finite outputs, got NaN at 77$/)
      expect(fault(output.slice(1))).toBe('expected an output of 153600 numbers, got 153599')
    },
  )

  it('refuses another scale and another projection', async () => {
    const given = pass('favor-pos', false)
    const rows = judgedRows(given, inputs, {})
    const {query, projection} = inputs
    const scaled = {...inputs, query: query.map(entry => 1.05 * entry)}
    const other = {...inputs, projection: projection.map(entry => 1.01 * entry)}
    expect(faultOf(await outputOf(given, scaled), given, rows)).toMatch(/^expected/)
    expect(faultOf(await outputOf(given, other), given, rows)).toMatch(/^expected/)
  })

  it('holds an epsilon against the same epsilon', async () => {
    const given = pass('favor-pos', false)
    const output = await outputOf(given, inputs)
    const rows = judgedRows(given, inputs, {featureEpsilon: 1e-4})
    expect(faultOf(output, given, rows)).toMatch(/^expected/)
  })

  it('passes tokens of a decoder', async () => {
    for (const method of ['softmax', 'favor-pos', 'rfa', 'elu'] as const) {
      const given = {...SHAPE, kind: 'decode', method, causal: true, flops: 1} as const
      const decode = {...given, position: LENGTH - 8, tokens: 8}
      const output = await outputOf(decode, inputs)
      const judge = (position: number) => judgedRows({...decode, position}, inputs, {})
      expect(faultOf(output, decode, judge(LENGTH - 8))).toBeUndefined()
      expect(faultOf(output, decode, judge(LENGTH - 9))).toMatch(/^expected/)
    }
  })
})

async function outputOf(given: Parameters<typeof ownEngine>[0], from: Inputs) {
  const engine = await ownEngine(given, from, 1)
  engine.dispose()
  return engine.output
}

/** Heads in the opposite order. */
function turned(output: Float32Array): Float32Array {
  const size = output.length / heads
  const parts = Array.from({length: heads}, (_, head) =>
    output.slice(head * size, (head + 1) * size),
  )
  return Float32Array.from(parts.reverse().flatMap(part => [...part]))
}

function spoiled(output: Float32Array, entry: number): Float32Array {
  const wrong = output.slice()
  wrong[77] = entry
  return wrong
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
