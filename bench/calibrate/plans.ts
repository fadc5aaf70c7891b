/** Plans of calibrations: ordinary ones with changes. */
import {swapFiles} from '../../src/cli/plans/swap-files.js'
import type {MethodSpec} from '../../src/experiments/axes.js'
import type {BenchPlan} from '../../src/experiments/bench/schema.js'
import type {ErrorSweepPlan} from '../../src/experiments/error-sweep/schema.js'
import type {SwapPlan} from '../../src/experiments/swap/schema.js'
import type {VariancePlan} from '../../src/experiments/variance/schema.js'

/** A plan under the name of its experiment, its methods and its changes. */
export interface Named<Plan = BenchPlan | ErrorSweepPlan | SwapPlan | VariancePlan> {
  name: string
  plan: Plan
}

/** Differences from an ordinary sweep, with the sizes of its generated input. */
export type SweepChanges = Partial<ErrorSweepPlan> & {
  heads?: number
  head_dim?: number
  batch?: number
}

const specs = (methods: string): MethodSpec[] =>
  methods.split(' ').map(method => ({method, preset: 'exact', options: {}}))

const DRAWS = {
  projections: ['orth'],
  orth_sign: 'haar',
  num_features: [256],
  seed: 0,
} satisfies Partial<BenchPlan>

/** @param methods - with blanks between them */
export function sweep(methods: string, changes: SweepChanges = {}): Named<ErrorSweepPlan> {
  const {heads = 4, head_dim = 64, batch = 1, ...rest} = changes
  const sizes = {batch, heads, head_dim, value_dim: head_dim, key_len: null}
  const plan: ErrorSweepPlan = {
    experiment: 'error-sweep',
    input: {kind: 'generator', name: 'gaussian', ...sizes},
    ...{methods: specs(methods), ...DRAWS, seq_lens: [512], scales: [1], causal: false},
    ...{targets: ['raw', 'matched'], replicates: 3, row_metrics: false, backend: 'native'},
    ...rest,
  }
  return {name: nameOf('sweep', methods, changes), plan}
}

export function bench(methods: string, changes: Partial<BenchPlan> = {}): Named<BenchPlan> {
  const plan: BenchPlan = {
    ...{experiment: 'bench', methods: specs(methods), ...DRAWS, redraw: 'fixed'},
    ...{seq_lens: [2048], batch: 1, heads: 8, head_dim: 64, value_dim: 64, causal: false},
    timing: {warmup_runs: 2, min_runs: 10, max_runs: 20, min_time_ns: 0},
    ...{order: 'listed', backend: 'native', threads: null},
    ...changes,
  }
  return {name: nameOf('bench', methods, changes), plan}
}

export function variance(
  methods: string,
  changes: Partial<VariancePlan> = {},
): Named<VariancePlan> {
  const plan: VariancePlan = {
    ...{experiment: 'variance', methods: specs(methods), ...DRAWS, projections: ['iid', 'orth']},
    ...{head_dims: [64], norms: [0.3], angles_deg: [45, 90], replicates: 2000, backend: 'native'},
    ...changes,
  }
  return {name: nameOf('variance', methods, changes), plan}
}

/** A swap in all layers of the packaged model. */
export async function swap(
  methods: string,
  changes: Partial<SwapPlan> = {},
): Promise<Named<SwapPlan>> {
  const {facts, model, texts} = await swapFiles({})
  const {lines, ...file} = texts
  const plan: SwapPlan = {
    ...{experiment: 'swap', methods: specs(methods), ...DRAWS, replicates: 5, backend: 'native'},
    ...{
      layer_sets: [Array.from({length: facts.layers}, (_, layer) => layer)],
      causal: facts.causal,
    },
    ...{model, texts: {...file, count: Math.min(200, lines)}, max_tokens: facts.maxTokens},
    ...changes,
  }
  return {name: nameOf('swap', methods, changes), plan}
}

function nameOf(kind: string, methods: string, changes: object): string {
  const texts = Object.entries(changes).map(([name, value]) =>
    value === true ? name : name === 'backend' ? value : `${name}=${value}`,
  )
  return [kind, methods, ...texts].join(' ')
}
