import {withCausal} from '../src/cli/plans/input-spec.js'
import {inputsFlags, toInputsPlan} from '../src/cli/plans/inputs.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'

export default class Inputs extends ExperimentCommand {
  static override summary = 'Show norms, angles and entropies of the heads of a file'
  static override description = helpText(
    'Reads queries and keys and says what decides about random features before any is drawn: how large they are, how they point, over how many keys exact attention spreads its weight, and about how many random vectors positive features need in each head.',
  )
  static override examples = [
    '<%= config.bin %> inputs',
    '<%= config.bin %> inputs --input qkv.safetensors',
    '<%= config.bin %> inputs --input model.safetensors --layer all --format csv',
  ]
  static override flags = inputsFlags

  async run() {
    const {flags} = await this.parse(Inputs)
    const saved = await this.savedPlan(flags)
    return this.runOrDescribe(saved ?? toInputsPlan(await withCausal(flags)), flags)
  }
}
