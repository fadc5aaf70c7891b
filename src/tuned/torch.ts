/** What `rfa.torch` reads of files of learned parameters. */
import type {Tuned} from './types.js'

const GUARDS = ['denGuard', 'causalDenGuard']
const UNIT = ['normEpsilon', 'featureScale']

/** Methods of `rfa.torch` with the options that it has of each, by their names here: a test holds them against its source. */
export const TORCH_METHODS: Readonly<Record<string, readonly string[]>> = {
  softmax: [],
  lara: ['sampling'],
  elu: GUARDS,
  rfa: ['tau', ...UNIT, ...GUARDS],
  'rfa-arccos': [...UNIT, 'featureEpsilon', ...GUARDS],
  'rfa-gate': ['tau', 'constantGate', ...UNIT, 'denGuard'],
  'favor-pos': [],
  'favor-hyp': [],
  'favor-trig': [],
  'favor-relu': ['featureEpsilon', ...GUARDS],
  oprf: ['a', 'prefix'],
  saderf: ['ridge', 'prefix'],
  cosformer: ['maxLength', 'featureEpsilon', ...GUARDS],
  taylor: GUARDS,
  hedgehog: ['nonlinearity'],
}

/** Whether `rfa.torch` has a method as it was learned. */
export function runsInTorch({
  method,
  preset,
  options,
}: Pick<Tuned, 'method' | 'preset' | 'options'>): boolean {
  const known = Object.hasOwn(TORCH_METHODS, method) ? TORCH_METHODS[method] : undefined
  if (known === undefined || preset !== 'exact') return false
  return Object.keys(options).every(name => known.includes(name))
}
