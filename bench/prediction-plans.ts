/** The plans of predictions.ts: [name, plan] of what fills memory in one way each. */
import type {BenchPlan} from '../src/experiments/bench/schema.js'
import type {ErrorSweepPlan} from '../src/experiments/error-sweep/schema.js'
import type {VariancePlan} from '../src/experiments/variance/schema.js'
import type {BackendName} from '../src/index.js'

type Plan = BenchPlan | ErrorSweepPlan | VariancePlan
type NamedPlan = readonly [name: string, plan: Plan]

/** What differs from an ordinary sweep; the sizes are those of its generated input. */
type SweepChanges = Partial<ErrorSweepPlan> & {heads?: number; head_dim?: number; batch?: number}

const method = (name: string) => ({method: name, preset: 'exact' as const, options: {}})

function sweep(methods: readonly string[], changes: SweepChanges = {}): ErrorSweepPlan {
  const {heads = 4, head_dim = 64, batch = 1, ...rest} = changes
  return {
    experiment: 'error-sweep',
    input: {
      ...{kind: 'generator', name: 'gaussian', batch, heads, head_dim},
      ...{value_dim: head_dim, key_len: null},
    },
    methods: methods.map(method),
    projections: ['orth'],
    orth_sign: 'haar',
    num_features: [256],
    seq_lens: [512],
    scales: [1],
    targets: ['raw', 'matched'],
    replicates: 3,
    causal: false,
    row_metrics: false,
    seed: 0,
    backend: 'native',
    ...rest,
  }
}

function bench(name: string, changes: Partial<BenchPlan> = {}): BenchPlan {
  return {
    experiment: 'bench',
    methods: [method(name)],
    projections: ['orth'],
    orth_sign: 'haar',
    redraw: 'fixed',
    num_features: [256],
    seq_lens: [2048],
    ...{batch: 1, heads: 8, head_dim: 64, value_dim: 64, causal: false},
    timing: {warmup_runs: 2, min_runs: 10, max_runs: 20, min_time_ns: 0},
    order: 'listed',
    seed: 0,
    backend: 'native',
    threads: null,
    ...changes,
  }
}

function variance(name: string, changes: Partial<VariancePlan> = {}): VariancePlan {
  return {
    experiment: 'variance',
    methods: [method(name)],
    projections: ['iid', 'orth'],
    orth_sign: 'haar',
    num_features: [256],
    head_dims: [64],
    norms: [0.3],
    angles_deg: [45, 90],
    replicates: 2000,
    seed: 0,
    backend: 'native',
    ...changes,
  }
}

const causal = true
const rows = {row_metrics: true}
const BACKENDS = ['native', 'tensorflow', 'wasm', 'cpu'] as const
const everywhere = (name: string, make: (backend: BackendName) => Plan) =>
  BACKENDS.map((backend): NamedPlan => [`${name} ${backend}`, make(backend)])

export const PLANS: readonly NamedPlan[] = [
  ...everywhere('sweep favor-pos small', backend =>
    sweep(['favor-pos'], {backend, seq_lens: [64], num_features: [32], heads: 1}),
  ),
  ...everywhere('sweep favor-pos', backend => sweep(['favor-pos'], {backend})),
  ...everywhere('sweep favor-pos causal', backend => sweep(['favor-pos'], {backend, causal})),
  [
    'sweep favor-pos causal 2048 wasm',
    sweep(['favor-pos'], {backend: 'wasm', causal, seq_lens: [2048]}),
  ],
  ['sweep favor-pos 4096 native', sweep(['favor-pos'], {seq_lens: [4096]})],
  [
    'sweep favor-pos 8 heads 16384 native',
    sweep(['favor-pos'], {heads: 8, seq_lens: [16384], replicates: 10, targets: ['raw']}),
  ],
  ['sweep oprf causal wasm', sweep(['oprf'], {backend: 'wasm', causal, seq_lens: [1024]})],
  ['sweep rfa causal wasm', sweep(['rfa'], {backend: 'wasm', causal, seq_lens: [1024]})],
  ...everywhere('sweep elu causal', backend => sweep(['elu'], {backend, causal, seq_lens: [1024]})),
  ...everywhere('sweep favor-pos rows', backend => sweep(['favor-pos'], {backend, ...rows})),
  ['sweep favor-pos rows 1024 native', sweep(['favor-pos'], {...rows, seq_lens: [1024]})],
  [
    'sweep favor-pos rows 768 one head native',
    sweep(['favor-pos'], {...rows, seq_lens: [768], heads: 1}),
  ],
  ['sweep favor-pos rows causal wasm', sweep(['favor-pos'], {...rows, causal, backend: 'wasm'})],
  ['sweep softmax rows 1024 native', sweep(['softmax'], {...rows, seq_lens: [1024]})],
  ...everywhere('sweep softmax 1024', backend => sweep(['softmax'], {backend, seq_lens: [1024]})),
  [
    'sweep softmax-online 2048 wasm',
    sweep(['softmax-online'], {backend: 'wasm', seq_lens: [2048]}),
  ],
  ...everywhere('sweep lara', backend =>
    sweep(['lara'], {backend, num_features: [64], seq_lens: [1024]}),
  ),
  ...everywhere('sweep eva', backend =>
    sweep(['eva'], {backend, num_features: [64], seq_lens: [1024]}),
  ),
  [
    'sweep eva causal wasm',
    sweep(['eva'], {backend: 'wasm', causal, num_features: [64], seq_lens: [1024]}),
  ],
  ...everywhere('sweep reformer', backend => sweep(['reformer'], {backend, num_features: [64]})),
  ...everywhere('sweep nystrom', backend =>
    sweep(['nystrom'], {backend, num_features: [64], seq_lens: [1024]}),
  ),
  [
    'sweep nystrom reformer native',
    sweep(['nystrom', 'reformer'], {num_features: [64], seq_lens: [1024]}),
  ],
  ['sweep eva lara native', sweep(['eva', 'lara'], {num_features: [64], seq_lens: [1024]})],
  ['sweep ra native', sweep(['ra'], {seq_lens: [1024]})],
  ['sweep mean-value 8192 one head native', sweep(['mean-value'], {seq_lens: [8192], heads: 2})],
  ['sweep scales rfa native', sweep(['rfa', 'favor-pos'], {scales: [0.5, 1, 2], seq_lens: [2048]})],
  [
    'sweep batch 2 heads 8 favor-pos wasm',
    sweep(['favor-pos'], {backend: 'wasm', batch: 2, heads: 8}),
  ],
  [
    'sweep favor-trig M 1024 native',
    sweep(['favor-trig'], {num_features: [1024], seq_lens: [1024]}),
  ],
  [
    'sweep favor-trig M 1024 wasm',
    sweep(['favor-trig'], {num_features: [1024], seq_lens: [1024], backend: 'wasm'}),
  ],
  ...everywhere('bench favor-pos', backend => bench('favor-pos', {backend, seq_lens: [1024]})),
  ...everywhere('bench elu causal', backend => bench('elu', {backend, causal, seq_lens: [512]})),
  ['bench favor-pos causal wasm', bench('favor-pos', {backend: 'wasm', causal, seq_lens: [1024]})],
  ['bench favor-pos 16384 native', bench('favor-pos', {seq_lens: [16384]})],
  ['bench softmax 2048 native', bench('softmax', {seq_lens: [2048]})],
  ['bench softmax 1024 wasm', bench('softmax', {seq_lens: [1024], backend: 'wasm'})],
  ['bench softmax-online 4096 native', bench('softmax-online', {seq_lens: [4096]})],
  ['bench lara native', bench('lara', {num_features: [64]})],
  ['bench eva native', bench('eva', {num_features: [64]})],
  ['bench reformer native', bench('reformer', {num_features: [64], seq_lens: [1024]})],
  ['bench nystrom wasm', bench('nystrom', {num_features: [64], backend: 'wasm'})],
  ...everywhere('variance favor-pos', backend => variance('favor-pos', {backend})),
  ...everywhere('variance hrf', backend => variance('hrf', {backend, replicates: 500})),
  ...everywhere('variance oprf', backend => variance('oprf', {backend})),
  ['variance favor-pos M 4096 native', variance('favor-pos', {num_features: [4096]})],
  [
    'variance favor-trig M 16384 native',
    variance('favor-trig', {num_features: [16384], replicates: 500}),
  ],
  [
    'variance favor-pos givens native',
    variance('favor-pos', {projections: ['givens'], replicates: 500}),
  ],
  ['variance sderf native', variance('sderf', {replicates: 500})],
  ['variance maclaurin native', variance('maclaurin', {replicates: 500})],
]
