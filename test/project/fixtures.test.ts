/** What fixtures/manifest.json says of the packaged layers is what they hold and what the program measures. */
import {createHash} from 'node:crypto'
import {readFileSync, statSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import type {ErrorSweepResult} from '../../src/experiments/error-sweep/schema.js'
import {openArrays} from '../../src/inputs/files/index.js'
import {loadInput} from '../../src/inputs/load.js'
import {rowEntropies} from '../../src/inputs/statistics.js'
import {readTuned, tunedSpecOf} from '../../src/tuned/index.js'
import {cellsOf} from '../helpers/cells.js'
import {FULL} from '../helpers/effort.js'
import {method, sweep} from '../helpers/plans.js'

interface Claims {
  sha256: string
  arrays: Record<string, number[]>
  causal: string
  character: string
  positive_features: Record<
    'heads_worse_than_averaging_v' | 'log10_of_vectors_for_relative_kernel_variance_1',
    Record<'bidirectional' | 'causal', number[]>
  >
}
const manifest = JSON.parse(readFileSync('fixtures/manifest.json', 'utf8')) as Record<
  string,
  Claims
>
const CAUSAL = ['charlm-layer0.safetensors', 'charlm-layer3.safetensors']
const PADDED = ['minilm-layer1.safetensors', 'minilm-layer5.safetensors']

const inputOf = (layer: string) => ({
  kind: 'file' as const,
  paths: [`fixtures/${layer}`],
  names: {query: 'q', key: 'k', value: 'v'},
})

/** Of 256 positive features, iid and orth; keys that a file says are padding are hidden. */
async function measured(layer: string, causal: boolean): Promise<ErrorSweepResult[]> {
  const plan = sweep({
    input: inputOf(layer),
    methods: [method('favor-pos')],
    num_features: [256],
    seq_lens: null,
    scales: [1],
    causal,
    backend: 'auto',
  })
  const results: ErrorSweepResult[] = []
  for (const run of await cellsOf(plan)) {
    const outcome = await run()
    if (outcome.status === 'completed') results.push(outcome.result as ErrorSweepResult)
  }
  return results
}

/** Mean entropy of rows of each head of the first text, the least and the most, as the manifest words it. */
async function entropies(layer: string, rows: readonly number[], causal: boolean): Promise<string> {
  const input = await loadInput(inputOf(layer), {seqLen: null, seed: 0})
  const [, heads, , headDim] = input.query.shape
  const options = {scale: 1, logitScale: headDim ** -0.5, causal}
  const means = Array.from({length: heads}, (_, head) => {
    const own = [...rowEntropies(input, head, options, rows)]
    return own.reduce((sum, row) => sum + row, 0) / rows.length
  })
  const [least, most] = [Math.min(...means), Math.max(...means)].map(nats => nats.toFixed(1))
  return `${least} to ${most} nats`
}

describe.each([...CAUSAL, ...PADDED])('%s', layer => {
  const claims = manifest[layer]!

  it('is the file of the manifest, at most 2 MiB', () => {
    const bytes = readFileSync(`fixtures/${layer}`)
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(claims.sha256)
    expect(statSync(`fixtures/${layer}`).size).toBeLessThanOrEqual(2 ** 21)
  })

  it('has the arrays that are told', async () => {
    const file = await openArrays(`fixtures/${layer}`)
    const shapes = [...file.entries].map(([name, {shape}]) => [name, shape])
    await file.close()
    expect(Object.fromEntries(shapes)).toEqual(claims.arrays)
  })

  it('has the entropies that are told', async () => {
    const causal = CAUSAL.includes(layer)
    const rows = Array.from({length: 256}, (_, i) => (causal ? 256 + i : i))
    expect(claims.character).toContain(await entropies(layer, rows, causal))
  })

  it.runIf(FULL || layer === PADDED[1]).each(CAUSAL.includes(layer) ? [false, true] : [false])(
    'serves positive features as badly as is told: causal %s',
    async causal => {
      const form = causal ? 'causal' : 'bidirectional'
      const {
        heads_worse_than_averaging_v: worse,
        log10_of_vectors_for_relative_kernel_variance_1: needs,
      } = claims.positive_features
      const results = await measured(layer, causal)
      expect(results).toHaveLength(2)
      const beaten = results.flatMap(({per_head}) =>
        per_head.filter(({mse_over_mean_value}) => mse_over_mean_value! > 1),
      )
      const heads = new Set(beaten.map(({head}) => head))
      expect([...heads].sort((a, b) => a - b)).toEqual(worse[form])
      for (const {per_head} of results) {
        const logs = per_head.map(({needed_num_features_log10}) => needed_num_features_log10!)
        const [least, most] = needs[form]
        expect(Math.abs(Math.min(...logs) - least!)).toBeLessThanOrEqual(0.01)
        expect(Math.abs(Math.max(...logs) - most!)).toBeLessThanOrEqual(0.01)
      }
    },
  )

  it('is told to be causal or not, and of no use that nobody measured', () => {
    const {positive_features: _, ...prose} = claims
    expect(claims.causal).toMatch(CAUSAL.includes(layer) ? /is causal|as above$/ : /not causal/)
    expect(JSON.stringify(prose)).not.toMatch(/can work|works? (here|well)|good for|absurd/)
  })
})

describe.each(PADDED)('%s', layer => {
  it('says in its metadata what a reader needs', async () => {
    const file = await openArrays(`fixtures/${layer}`)
    const {metadata, entries} = file
    await file.close()
    expect(metadata).toMatchObject({causal: 'false', layout: 'bhld', license: 'Apache-2.0'})
    expect(metadata.layers).toBe(/\d/.exec(layer)![0])
    expect(metadata.origin).toContain('256 tokens and 180 padded to 256')
    expect([...entries.values()].map(({storedType}) => storedType)).toEqual([
      ...['F16', 'F16', 'F16'],
      'BOOL',
    ])
  })
})

it('has features that the character model learned on other verses than those that are judged', async () => {
  const versesOf = (name: string) => readFileSync(`fixtures/${name}`, 'utf8').trimEnd().split('\n')
  const learned = new Set(versesOf('charlm-learned.txt'))
  expect(versesOf('charlm/texts.txt').filter(verse => learned.has(verse))).toEqual([])
  const tuned = await readTuned('fixtures/charlm-tuned.safetensors')
  expect(tuned).toMatchObject({method: 'favor-pos', numFeatures: 64, heads: 4, headDim: 32})
  expect(tuned.layers.map(({layer}) => layer)).toEqual([0, 1, 2, 3])
  expect(tunedSpecOf(tuned).draws).toBe(3)
})
