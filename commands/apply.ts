import {applyFlags, toApplyRequest} from '../src/cli/plans/apply.js'
import {tunedFile} from '../src/cli/plans/tuned.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'
import {idleSettings} from '../src/cli/run/without-effect.js'

export default class Apply extends RfaCommand {
  static override summary = 'Run one estimator on the arrays of a file and save its output'
  static override description = helpText(
    'Reads queries, keys and values, computes attention with one estimator, and writes the output as the array out: [B, H, L, Dv], or [B, L, H, Dv] with --layout blhd. A gate follows the layout, too; projection, noise and learned arrays do not. Several layers are written as layers.0.out, layers.1.out and so on.',
  )
  static override examples = [
    '<%= config.bin %> apply --method favor-pos --input qkv.safetensors --output out.npz --num-features 256',
    '<%= config.bin %> apply --method rfa --option tau=0.7 --causal --input q.npy,k.npy,v.npy --output out.npy',
  ]
  static override flags = applyFlags

  async run() {
    const {flags} = await this.parse(Apply)
    const {illConditionedWarning, notFiniteWarning, writtenNote} = await import(
      '../src/apply/report.js'
    )
    const {loadEstimators} = await import('../src/attention/names.js')
    const {typed, others} = this.plugins
    const owner = [...typed, ...others].find(({record}) => record.methods.includes(flags.method))
    const asked = toApplyRequest(flags, await loadEstimators(), await tunedFile(flags))
    const request = {...asked, origin: owner?.record}
    const record = await this.services.applyEstimator(request, {
      note: text => this.note(text),
      warn: text => this.caution(text),
    })
    const settled = {...request, causal: record.causal}
    for (const warning of await idleSettings(flags, settled)) this.caution(warning)
    this.note(writtenNote(record))
    this.caution(notFiniteWarning(record))
    this.caution(illConditionedWarning(record))
    return record
  }
}
