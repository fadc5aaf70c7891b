import * as Flags from '@oclif/core/flags'
import {helpText} from '../src/cli/base-command.js'
import {ExperimentCommand} from '../src/cli/experiment-command.js'
import {
  methodFlags,
  nameList,
  numberList,
  oneName,
  oneNumber,
  runFlags,
  toggle,
} from '../src/cli/flags.js'
import {PACKAGED_INPUT} from '../src/cli/packaged-input.js'
import {defaultHelp, ERROR_SWEEP, GENERATOR_SHAPE} from '../src/cli/plans/defaults.js'
import {POSITIVE_INTEGER, POSITIVE_NUMBER} from '../src/cli/ranges.js'
import type {ErrorSweepRecord} from '../src/experiments/error-sweep/schema.js'
import {GENERATOR_NAMES} from '../src/inputs/generators/index.js'

const size = (description: string) =>
  oneNumber(POSITIVE_INTEGER)({helpGroup: 'INPUT', description: `${description}; --generator only`})

export default class ErrorSweep extends ExperimentCommand {
  static override summary = 'Measure how far random-feature attention is from exact attention'
  static override description = helpText(
    `Compares each estimator with exact softmax attention on queries, keys and values of your own, or by default on those of a small trained model (${PACKAGED_INPUT}), or on generated ones, and splits the error into bias and variance, with six replicates or more.`,
  )
  static override examples = [
    '<%= config.bin %> error-sweep --quick',
    '<%= config.bin %> error-sweep --input qkv.safetensors --methods favor-pos,rfa --num-features 64..1k*2 --causal',
    '<%= config.bin %> error-sweep --input q.npy,k.npy,v.npy --scales 0.25..4*2 --output results/scales',
    '<%= config.bin %> error-sweep --generator gaussian --seq-len 256,1024 --preset exact,performer-pytorch --dry-run',
  ]
  static override flags = {
    input: Flags.string({
      char: 'i',
      multiple: true,
      multipleNonGreedy: true,
      delimiter: ',',
      helpGroup: 'INPUT',
      helpValue: 'FILE',
      description: `.npz or .safetensors file, .npy file of all three stacked, or three .npy files: query, key, value (default: ${PACKAGED_INPUT} of the package)`,
    }),
    'query-name': Flags.string({
      helpValue: 'NAME',
      helpGroup: 'INPUT',
      description: 'array of queries (default: q)',
    }),
    'key-name': Flags.string({
      helpValue: 'NAME',
      helpGroup: 'INPUT',
      description: 'array of keys (default: k)',
    }),
    'value-name': Flags.string({
      helpValue: 'NAME',
      helpGroup: 'INPUT',
      description: 'array of values (default: v)',
    }),
    generator: oneName(
      'generators',
      GENERATOR_NAMES,
    )({
      helpGroup: 'INPUT',
      description: `generate the input: ${GENERATOR_NAMES.join(', ')}`,
    }),
    batch: size(`batch B (default: ${GENERATOR_SHAPE.batch})`),
    heads: size(`heads H (default: ${GENERATOR_SHAPE.heads})`),
    'head-dim': size(`head dimension D (default: ${GENERATOR_SHAPE.headDim})`),
    'value-dim': size('value dimension Dv (default: D)'),
    'key-len': size('keys S (default: as many as queries)'),
    ...methodFlags(ERROR_SWEEP),
    'seq-len': numberList(POSITIVE_INTEGER)({
      helpGroup: 'GRID',
      description: `lengths L (default: that of the file; ${GENERATOR_SHAPE.seqLen} when generated)`,
    }),
    scales: numberList(POSITIVE_NUMBER)({
      helpGroup: 'GRID',
      description: `factors on queries and keys, e.g. 0.25..4*2 ${defaultHelp(ERROR_SWEEP, grid => grid.scales)}`,
    }),
    targets: nameList('targets', ['raw', 'matched'] as const)({
      helpGroup: 'GRID',
      description:
        'compare with softmax of the given q and k (raw), with what a method converges to (matched), or both (default)',
    }),
    replicates: oneNumber(POSITIVE_INTEGER)({
      helpGroup: 'GRID',
      description: `independent draws per cell ${defaultHelp(ERROR_SWEEP, grid => grid.replicates)}`,
    }),
    causal: toggle('query i sees keys 0..i only', 'GRID'),
    'row-metrics': toggle(
      'KL divergence and total variation of attention rows; needs L x S memory',
      'GRID',
    ),
    ...runFlags,
  }

  async run() {
    const {flags} = await this.parse(ErrorSweep)
    const {toErrorSweepPlan} = await import('../src/cli/plans/error-sweep.js')
    const {errorSweepReport} = await import('../src/experiments/error-sweep/report.js')
    const {pinInput} = await import('../src/inputs/digest.js')
    const unpinned = toErrorSweepPlan(flags, await this.estimators())
    const plan = {...unpinned, input: await pinInput(unpinned.input)}
    return this.conduct(plan, flags, records => errorSweepReport(records as ErrorSweepRecord[]))
  }
}
