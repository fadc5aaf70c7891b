import * as Args from '@oclif/core/args'
import {METHOD_NAMES} from '../src/attention/names.js'
import {CHECK_GROUPS, CHECK_SECONDS} from '../src/check/types.js'
import {completedWith, nameList, oneNumber, present, toggle} from '../src/cli/flags/kinds.js'
import {CHECK_DRAWS, COUNT, SECONDS} from '../src/cli/flags/ranges.js'
import {detailsFlag} from '../src/cli/flags/shared.js'
import {EXIT_CHECK_FAILED} from '../src/cli/program/exit-codes.js'
import type {CheckDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Check extends RfaCommand {
  static override summary = 'Check an estimator of your own, or a built-in one'
  static override description = helpText(
    'Runs the checks that built-in estimators must pass: declared facts, shapes, laws of attention (causality, masks, order, the recurrent form), finite numbers at large norms, gradients, options, other backends, counted operations, and means and variances over draws. Checks that do not apply are skipped; --details says why. Bounds on differences follow from float32 and from the number of draws. A statistical check fails a correct estimator with a probability of at most about 1e-4.',
    'Statistical checks draw until each comparison is decided, or until their time is up: undecided ones are listed. Overflow at large norms only is a warning.',
    'Shapes are small, and the backend is cpu.',
  )
  static override usage = [
    'check ESTIMATOR... [--only GROUP,GROUP] [--seed N] [--max-time N | --draws N] [--strict]',
  ]
  static override examples = [
    '<%= config.bin %> check ./my-estimator.js',
    '<%= config.bin %> check favor-pos --only laws,gradients',
    '<%= config.bin %> check ./my-estimator.js --only unbiasedness --max-time 60 --strict --json',
  ]
  static override args = {
    estimator: Args.string({
      ...completedWith(METHOD_NAMES),
      required: true,
      multiple: true,
      description: 'files of plug-ins, and names of estimators',
      parse: async word => present(word, 'check'),
    }),
  }
  static override flags = {
    only: nameList({groups: CHECK_GROUPS})(
      `kinds of checks: ${CHECK_GROUPS.join(', ')} (default: all)`,
    ),
    seed: oneNumber(COUNT)('seed of inputs, projections and noise (default: 0)'),
    'max-time': oneNumber(SECONDS)(
      `seconds of processor time that each statistical check may take (default: ${CHECK_SECONDS})`,
      {exclusive: ['draws']},
    ),
    draws: oneNumber(CHECK_DRAWS)(
      'draws per statistical check, four times that for variances (default: until it is decided)',
    ),
    strict: toggle('exit with 1, too, if something declared stays undecided'),
    details: detailsFlag,
  }

  async run() {
    const {args, flags} = await this.parse(Check)
    const {checkAll, estimatorsNamed, showChecks} = await import(
      '../src/cli/describe/check-estimators.js'
    )
    const {checkReport, checkScreen} = await import('../src/report/check.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const {only: groups = [...CHECK_GROUPS], seed = 0, draws = null} = flags
    const {'max-time': seconds = CHECK_SECONDS, strict} = flags
    const named = await estimatorsNamed(args.estimator, process.env)
    const progress = await showChecks(process.stderr, flags.quiet)
    const asked = {groups, seed, draws, seconds}
    const estimators = await checkAll(named, asked, this.services, progress.show).finally(() =>
      progress.stop(),
    )
    const blocks = flags.details ? estimators.flatMap(checkReport) : checkScreen(estimators)
    this.print(renderTerminal(blocks, this.layout()))
    const passed = estimators.every(one => one.passed)
    const open = strict && estimators.some(({unchecked}) => unchecked.length > 0)
    if (!passed || open) process.exitCode = EXIT_CHECK_FAILED
    return {schema: 'rfa.check/1', ...asked, passed, estimators} satisfies CheckDocument
  }
}
