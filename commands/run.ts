import * as Args from '@oclif/core/args'
import {inGroup, present} from '../src/cli/flags/kinds.js'
import {pluginFlag, runFlags, timedFlags} from '../src/cli/flags/shared.js'
import {helpText} from '../src/cli/run/base-command.js'
import {TimedCommand} from '../src/cli/run/timed-command.js'

const {quick: _quick, seed: _seed, backend: _backend, ...howToRun} = runFlags

export default class Run extends TimedCommand {
  static override summary = 'Run a plan out of a file'
  static override description = helpText(
    'Runs what error-sweep, bench or variance has printed under --dry-run --json, wherever the plan was made: its input files must be here under the same names and hold the same. A plan with plug-ins is a program: each of them is named by --plugin or RFA_PLUGINS, and holds what it held.',
  )
  static override examples = [
    '<%= config.bin %> run plan.json',
    '<%= config.bin %> run plan.json --output results/sweep --resume',
    '<%= config.bin %> run plan.json --dry-run',
  ]
  static override args = {
    plan: Args.string({
      required: true,
      description: 'file with a plan',
      parse: async text => present(text, 'run'),
    }),
  }
  static override flags = {
    ...howToRun,
    ...timedFlags,
    ...inGroup('RUN', {plugin: pluginFlag('for a plan with its estimators, which is a program')}),
  }

  protected override async recordedPlugins() {
    const {args} = await this.parse(Run)
    const {recordedInFile} = await import('../src/cli/run/plugins.js')
    return recordedInFile(args.plan)
  }

  async run() {
    const {args, flags} = await this.parse(Run)
    const {readPlanFile, refuseOtherThreads} = await import('../src/cli/run/plan-file.js')
    const {withNamedPlugins} = await import('../src/cli/run/plugins.js')
    const read = await readPlanFile(args.plan)
    refuseOtherThreads(args.plan, read, flags.threads)
    const plan = withNamedPlugins(read, {from: args.plan, keeper: 'plan'}, this.plugins)
    return this.runQuietly(plan, {...flags, plan: args.plan})
  }
}
