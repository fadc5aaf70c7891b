import * as Flags from '@oclif/core/flags'
import {
  loadEstimators,
  METHOD_NAMES,
  PRESET_NAMES,
  PROJECTION_NAMES,
} from '../src/attention/names.js'
import {helpText, RfaCommand} from '../src/cli/base-command.js'
import {
  computeFlags,
  oneName,
  oneNumber,
  optionFlag,
  orthSignFlag,
  toggle,
} from '../src/cli/flags.js'
import {POSITIVE_INTEGER, POSITIVE_NUMBER} from '../src/cli/ranges.js'

export default class Apply extends RfaCommand {
  static override summary = 'Run one estimator on the arrays of a file and save its output'
  static override description = helpText(
    'Reads queries, keys and values, computes attention with one estimator, and writes the output [B, H, L, Dv] under the name out.',
  )
  static override examples = [
    '<%= config.bin %> apply --method favor-pos --input qkv.safetensors --output out.npz --num-features 256',
    '<%= config.bin %> apply --method rfa --option tau=0.7 --causal --input q.npy,k.npy,v.npy --output out.npy',
  ]
  static override flags = {
    method: oneName(
      'methods',
      METHOD_NAMES,
    )({
      char: 'm',
      required: true,
      description: `the estimator: ${METHOD_NAMES.join(', ')}`,
    }),
    input: Flags.string({
      char: 'i',
      required: true,
      multiple: true,
      multipleNonGreedy: true,
      delimiter: ',',
      helpValue: 'FILE',
      description:
        '.npz or .safetensors file, .npy file of all three stacked, or three .npy files: query, key, value',
    }),
    'query-name': Flags.string({helpValue: 'NAME', description: 'array of queries (default: q)'}),
    'key-name': Flags.string({helpValue: 'NAME', description: 'array of keys (default: k)'}),
    'value-name': Flags.string({helpValue: 'NAME', description: 'array of values (default: v)'}),
    output: Flags.string({
      char: 'o',
      required: true,
      helpValue: 'FILE',
      description: 'where to write: .npz, .npy or .safetensors',
    }),
    force: toggle('replace an output that is there; never an input'),
    causal: toggle('query i sees keys 0..i only'),
    preset: oneName(
      'presets',
      PRESET_NAMES,
    )({
      description: `whose implementation to reproduce (default: exact): ${PRESET_NAMES.join(', ')}`,
    }),
    option: optionFlag,
    'num-features': oneNumber(POSITIVE_INTEGER)({
      description: 'number of random vectors M (default: 256)',
    }),
    projection: oneName(
      'projections',
      PROJECTION_NAMES,
    )({
      description: `random matrix (default: the method's own): ${PROJECTION_NAMES.join(', ')}`,
    }),
    'orth-sign': orthSignFlag,
    scale: oneNumber(POSITIVE_NUMBER)({
      helpValue: 'BETA',
      description: 'factor on q.k, the logit scale (default: 1/sqrt(D))',
    }),
    ...computeFlags,
  }

  async run() {
    const {flags} = await this.parse(Apply)
    const {toApplyRequest} = await import('../src/cli/plans/apply.js')
    const {applyEstimator} = await import('../src/apply/apply.js')
    const {notFiniteWarning} = await import('../src/apply/report.js')
    const request = toApplyRequest(flags, await loadEstimators())
    const record = await applyEstimator(request, text => this.note(text))
    this.note(`written to ${flags.output}`)
    this.caution(notFiniteWarning(record))
    return record
  }
}
