import * as Args from '@oclif/core/args'
import {present} from '../src/cli/flags/kinds.js'
import {slurmFlags} from '../src/cli/plans/slurm.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Slurm extends RfaCommand {
  static override summary = 'Write a plan as jobs for Slurm'
  static override description = helpText(
    'Writes an array job that runs the shards of a plan, a merge job that follows it, and submit.sh, which submits both (--submit does that at once). A task that is killed, requeued or submitted again continues where it stopped. The plan comes from --dry-run --json of error-sweep, bench or variance; all nodes must see its input files and plug-ins. A plan with plug-ins is a program: name each of them here, and the scripts name it.',
  )
  static override examples = [
    '<%= config.bin %> slurm plan.json --shards 64 --cpus 4 --time 02:00:00 --output results/sweep',
    '<%= config.bin %> slurm plan.json --shards 200 --at-once 20 --partition long --sbatch=--account=physics --submit',
  ]
  static override args = {
    plan: Args.string({
      required: true,
      description: 'file with a plan',
      parse: async text => present(text, 'slurm'),
    }),
  }
  static override flags = slurmFlags

  protected override async recordedPlugins() {
    const {args} = await this.parse(Slurm)
    const {recordedInFile} = await import('../src/cli/run/plugins.js')
    return recordedInFile(args.plan)
  }

  async run() {
    const {args, flags} = await this.parse(Slurm)
    const {readPlanFile} = await import('../src/cli/run/plan-file.js')
    const {withNamedPlugins} = await import('../src/cli/run/plugins.js')
    const {shortTasks, slurmReport, writeSlurmJob} = await import('../src/cli/slurm/run-slurm.js')
    const {plan: from} = args
    const read = await readPlanFile(from)
    const plan = withNamedPlugins(read, {from, keeper: 'plan'}, this.plugins)
    const job = await writeSlurmJob(plan, flags, this.invocation())
    await this.printBlocks(slurmReport(job))
    this.caution(shortTasks(job, from))
    return job
  }
}
