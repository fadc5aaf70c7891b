import type {Plan} from '../../results/record.js'
import type {ExperimentRun} from '../../runner/run-experiment.js'
import type {DryRun} from '../../runner/schedule/dry-run.js'
import type {RunOptions} from '../flags/shared.js'
import {ExperimentCommand} from './experiment-command.js'

/** A command that runs a plan once the machine is quiet, where that is asked for. */
export abstract class TimedCommand extends ExperimentCommand {
  /** As {@link runOrDescribe}. */
  protected async runQuietly(
    plan: Plan,
    flags: RunOptions & {'wait-quiet'?: number | undefined},
  ): Promise<ExperimentRun | DryRun> {
    const {'wait-quiet': seconds} = flags
    if (seconds !== undefined && !flags['dry-run']) await this.waitUntilQuiet(seconds)
    return this.runOrDescribe(plan, flags)
  }

  private async waitUntilQuiet(seconds: number): Promise<void> {
    const {useText, waitUntilQuiet} = await import('./wait-quiet.js')
    const {duration} = await import('./progress.js')
    const limit = duration(1000 * seconds)
    const use = await waitUntilQuiet(1000 * seconds, first =>
      this.note(`waiting at most ${limit} for a quiet machine: ${useText(first)}`),
    )
    if (use) this.caution(`the machine was not quiet within ${limit}: ${useText(use)}`)
  }
}
