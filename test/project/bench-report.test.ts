import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {attentionCases, OPERATION_CASES} from '../../bench/cases.js'
import {backendsReport, type KernelsReport, kernelsReport} from '../../bench/report-schema.js'
import {impossibleRows, kernelRow} from '../../bench/statistics.js'
import {kernelsText} from '../../bench/table.js'

const samples = {native: [2e6, 4e6, 3e6, 7e6], wasm: [8e6, 8e6]}

/** A report on one length, as a machine with 100 GFLOP/s would give it. */
async function report(): Promise<KernelsReport> {
  const cases = [...(await attentionCases([512])), ...OPERATION_CASES]
  const kernels = cases.map(given => kernelRow(given, samples, 100, {SoftmaxAttention: 'fused'}))
  return {
    schema: 'rfa.kernels/3',
    created_at: '2026-11-22T03:00:00.000Z',
    machine: {
      ...{cpu: 'CPU', logical_cores: 2, available_parallelism: 2, memory_bytes: 2 ** 34},
      ...{platform: 'linux', arch: 'x64', node: '20.19.0', rfa: '0.1.0', tfjs: '4.22.0'},
      commit: null,
    },
    runtime: {
      ...{isa: 'avx2', available: 'avx2,scalar', lanes: 8, forced: false, error: ''},
      ...{compiler: 'gcc 12', build: 'release'},
    },
    load_average: {before: 3, after: 1},
    seconds_per_case: 8,
    shape: {heads: 8, headDim: 64, numFeatures: 256},
    kernels,
  }
}

describe('the kernel benchmark', () => {
  it('writes what its schema says', async () => {
    const written: unknown = JSON.parse(JSON.stringify(await report()))
    expect(kernelsReport.parse(written)).toEqual(written)
  })

  it('counts the work of a method as its estimator does', async () => {
    const cases = await attentionCases([512, 1024])
    const flops = (name: string, length: number) =>
      cases.find(given => given.name === name && given.length === length)!.flops
    // 8 heads, per pair 4 D and an exp of 10
    expect(flops('softmax-online', 512)).toBe(8 * 512 * 512 * (4 * 64 + 10))
    expect(flops('softmax-online causal', 512)).toBe(flops('softmax-online', 512) / 2)
    expect(flops('favor-pos', 1024)).toBe(2 * flops('favor-pos', 512))
  })

  it('takes rates and ratios from the fastest runs, and the middle of all', async () => {
    const [given] = OPERATION_CASES
    const row = kernelRow(given!, samples, 400, {})
    expect(row.native).toEqual({min_ns: 2e6, median_ns: 3.5e6, runs: 4})
    expect(row).toMatchObject({wasm_over_native: 4})
    expect(row.gflops).toBe(given!.flops! / 2e6)
    // three or four roundings on either side, each of half a unit of 2^-52
    const share = (100 * given!.flops!) / 2e6 / 400
    expect(Math.abs(row.peak_pct! - share)).toBeLessThanOrEqual(4 * 2 ** -52 * share)
  })

  it('reports what disturbs its times', async () => {
    const shown = kernelsText(await report())
    expect(shown).toContain('Other programs were running: load 3.0.')
    expect(shown).toMatch(/^favor-pos causal +512 +2\.00 ms .* 4\.00x$/m)
    expect(shown).toMatch(/^exp 1M +2\.00 ms +4\.00x$/m)
  })

  it('objects to kernels beyond the multiply-add peak', () => {
    const rows = [
      {name: 'matMul', peak_pct: 133.4},
      {name: 'elu causal', length: 512, peak_pct: 105.1},
      {name: 'rfa', length: 512, peak_pct: 104.9},
      {name: 'exp 1M', peak_pct: null},
    ]
    expect(impossibleRows(rows)).toEqual([
      'matMul: expected at most 105 % of the multiply-add peak, got 133.4 %: that peak or the work that is counted is wrong',
      'elu causal L=512: expected at most 105 % of the multiply-add peak, got 105.1 %: that peak or the work that is counted is wrong',
    ])
  })
})

describe('the order of backends', () => {
  /** How often the first of two is the faster one, where both ran. */
  function wins(first: 'native' | 'tensorflow', second: 'tensorflow' | 'wasm'): string {
    const path = new URL('../../results/reference/backends.json', import.meta.url)
    const {rows} = backendsReport.parse(JSON.parse(readFileSync(path, 'utf8')))
    const both = rows.flatMap(row => (row[first] && row[second] ? [row] : []))
    const won = both.filter(row => row[first]!.min_ns < row[second]!.min_ns)
    return `${won.length} of ${both.length}`
  }

  it('of the stored run is what docs/backends.md says', () => {
    expect(wins('tensorflow', 'wasm')).toBe('225 of 250')
    expect(wins('native', 'tensorflow')).toBe('254 of 264')
  })
})
