/** What fixtures/manifest.json says of the packaged layers is what the program measures. */
import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import type {ErrorSweepResult} from '../../src/experiments/error-sweep/schema.js'
import {loadInput} from '../../src/inputs/load.js'
import {inputStatistics, rowEntropies} from '../../src/inputs/statistics.js'
import {cellsOf} from '../helpers/cells.js'
import {method, sweep} from '../helpers/plans.js'

interface Claims {
  arrays: Record<'q' | 'k' | 'v', number[]>
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
const LAYERS = ['charlm-layer0.safetensors', 'charlm-layer3.safetensors'] as const

const inputOf = (layer: string) => ({
  kind: 'file' as const,
  paths: [`fixtures/${layer}`],
  names: {query: 'q', key: 'k', value: 'v'},
})

/** Of 256 positive features, iid and orth. */
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

describe.each(LAYERS)('%s', layer => {
  const claims = manifest[layer]!

  it('has the arrays and the entropies that are told', async () => {
    const input = await loadInput(inputOf(layer), {seqLen: null, seed: 0})
    const {query, key, value} = input
    expect({q: query.shape, k: key.shape, v: value.shape}).toEqual(claims.arrays)
    const rows = Array.from({length: 256}, (_, i) => 256 + i)
    const options = {scale: 1, logitScale: 1 / 8, causal: true}
    const heads = inputStatistics(input, options).perHead.map((_, head) => {
      const own = [...rowEntropies(input, head, options, rows)]
      return own.reduce((sum, row) => sum + row, 0) / rows.length
    })
    const range = [Math.min(...heads), Math.max(...heads)].map(nats => nats.toFixed(1)).join(' to ')
    expect(claims.character).toContain(`${range} nats`)
  })

  it.each([false, true])(
    'serves positive features as badly as is told: causal %s',
    async causal => {
      const form = causal ? 'causal' : 'bidirectional'
      const {
        heads_worse_than_averaging_v: worse,
        log10_of_vectors_for_relative_kernel_variance_1: needs,
      } = claims.positive_features
      const results = await measured(layer, causal)
      expect(results).toHaveLength(2)
      for (const {per_head} of results) {
        const beaten = per_head.filter(({mse_over_mean_value}) => mse_over_mean_value! > 1)
        expect(beaten.map(({head}) => head)).toEqual(worse[form])
        const logs = per_head.map(({needed_num_features_log10}) => needed_num_features_log10!)
        const [least, most] = needs[form]
        expect(Math.abs(Math.min(...logs) - least!)).toBeLessThanOrEqual(0.01)
        expect(Math.abs(Math.max(...logs) - most!)).toBeLessThanOrEqual(0.01)
      }
    },
  )

  it('is told to be causal, and of no use that nobody measured', () => {
    const {positive_features: _, ...prose} = claims
    expect(JSON.stringify(prose)).toContain('causal')
    expect(JSON.stringify(prose)).not.toMatch(/can work|works? (here|well)|good for|absurd/)
  })
})
