/** Methods with landmarks, windows, proposals or drawn keys, and learned arrays. */
import {numberAs, numberField, present, type Reading, textField} from './read.js'

/** Names of the learned maps, ours and as the peer ends them. */
const PARTS = {Weight: 'lin_w', Bias: 'lin_b', NormWeight: 'ln_w', NormBias: 'ln_b'} as const

/** Our names of the learned maps of both sides, with the peer's. */
const learned = (query: string, key: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(PARTS).flatMap(([own, peer]) => [
      [`query${own}`, `${query}_${peer}`],
      [`key${own}`, `${key}_${peer}`],
    ]),
  )

/** Windows and control variates, bidirectional (a number of chunks) and causal (a chunk size). */
const eva: Reading = {
  methods: ['EVA'],
  request(golden, arrays) {
    return {
      kind: 'attention',
      methods: ['eva'],
      preset: 'hku',
      ...numberAs(golden, 'num_landmarks', 'num_features'),
      options: {
        window: numberField(golden, 'window')!,
        overlap: golden.overlap === true,
        sampling: golden.training === true ? 'sampled' : 'mean',
        ...numberAs(golden, 'chunk_size', 'chunkSize'),
        ...(golden.adaptive_proj === 'none' && {proposal: 'zero', causalProposal: 'zero'}),
      },
      noise: present(arrays, {proposal: 'noise'}),
      parameters: present(arrays, learned('muq', 'muk')),
    }
  },
}

const SAMPLING: Readonly<Record<string, string>> = {
  eval: 'mean',
  train: 'single',
  antithetic: 'antithetic',
  multisample: 'multisample',
}

/** The peer pools a grid where the case has one, else segments. */
const lara: Reading = {
  methods: ['LARA'],
  request(golden, arrays) {
    const generator = textField(golden, 'proposal_gen')
    const grid = Array.isArray(golden.grid) ? (golden.grid as [number, number]) : undefined
    const sampling = SAMPLING[textField(golden, 'sampling')]
    if (!sampling) throw new Error(`${golden.name}: sampling "${golden.sampling}" is unknown`)
    // on a sequence the peer has learned maps for adaptive-1d only
    const learns = grid !== undefined || generator === 'adaptive-1d'
    return {
      kind: 'attention',
      methods: ['lara'],
      preset: 'hku',
      num_features: numberField(golden, 'num_landmarks')!,
      options: {
        mis: textField(golden, 'mis_type').replace('mis-', ''),
        alphaCoefficient: numberField(golden, 'alpha_coeff') ?? 1,
        alphaFloor: numberField(golden, 'eps') ?? 1e-8,
        sampling,
        ...(grid && gridOptions(grid, generator)),
      },
      noise: present(arrays, {noise: 'noise'}),
      parameters: learns ? present(arrays, learned('qbar', 'kbar')) : {},
    }
  },
}

const gridOptions = ([gridHeight, gridWidth]: [number, number], generator: string) => ({
  proposals: 'grid',
  gridHeight,
  gridWidth,
  learnedPlace: 'means',
  mixing: mixingOf(generator),
})

function mixingOf(generator: string): string {
  if (generator.endsWith('vmixed')) return 'values'
  return generator.endsWith('mixed') ? 'keys' : 'none'
}

/** The peer's number of samples, as the centre of a draw. */
const PROPOSALS: Readonly<Record<string, string>> = {'0': 'mean-key', '-1': 'softmax-mean'}

/** The peer tells which keys it drew. */
const randomized: Reading = {
  methods: ['randomized attention (RA)'],
  request(golden, arrays) {
    const proposal = PROPOSALS[String(numberField(golden, 'num_samples'))] ?? 'categorical'
    return {
      kind: 'attention',
      methods: ['ra'],
      preset: 'hku',
      options: {proposal, sampled: arrays.has('noise')},
      noise: present(arrays, {noise: 'noise'}),
      ...(proposal === 'categorical' && {drawn_keys: 'k_index'}),
    }
  },
}

/** Keys and values mixed by matrices E and F, `[S, k]`. */
const linformer: Reading = {
  methods: ['linformer'],
  request: (_golden, arrays) => ({
    kind: 'attention',
    methods: ['linformer'],
    num_features: arrays.shape('E')[1]!,
    parameters: {keyProjection: 'E', valueProjection: arrays.has('F') ? 'F' : 'E'},
  }),
}

export const LANDMARKS: readonly Reading[] = [eva, lara, randomized, linformer]
