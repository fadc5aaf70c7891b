import {readsTexts, toTrainPlan, trainFlags, withRunsOf} from '../src/cli/plans/train.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'

export default class Train extends ExperimentCommand {
  static override summary = 'Train small models from scratch and compare what they learn'
  static override description = helpText(
    'Trains a small causal transformer with each method on a task: recall of values by keys, copying from noise, the value of nested operations, or the characters of a text. Every method gets the same learning rates; validation chooses one, and a test judges it. The size of the state and processor time are measured, too.',
  )
  static override examples = [
    '<%= config.bin %> train --quick',
    '<%= config.bin %> train --methods softmax,elu,rfa-gate --pairs 4,8,16 --seeds 3',
    '<%= config.bin %> train --task chars --texts book.txt --methods softmax,rfa-gate --steps 1000',
  ]
  static override flags = trainFlags

  async run() {
    const {flags} = await this.parse(Train)
    const saved = await this.savedPlan(flags)
    if (saved) return this.runOrDescribe(saved, flags)
    const estimators = await this.estimators(true)
    const {trainTexts} = await import('../src/cli/plans/train-texts.js')
    const texts = readsTexts(flags) ? await trainTexts(flags) : undefined
    const plan = toTrainPlan(flags, estimators, texts)
    const {output, resume} = flags
    const earlier =
      resume && output !== undefined ? await this.services.readPlan(output) : undefined
    return this.runOrDescribe(withRunsOf(plan, earlier), flags)
  }
}
