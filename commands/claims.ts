import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import {CLAIM_IDS, claimsNamed} from '../src/claims/index.js'
import type {ClaimOutcome} from '../src/claims/outcome.js'
import {helpText, RfaCommand} from '../src/cli/base-command.js'
import {EXIT_CLAIM_REFUTED} from '../src/cli/exit-codes.js'
import {completedWith, oneNumber, oneText, present, toggle} from '../src/cli/flags.js'
import type {ClaimListDocument} from '../src/cli/json-documents.js'
import {COUNT, THREADS} from '../src/cli/ranges.js'

export default class Claims extends RfaCommand {
  static override summary = "Test the papers' claims by experiments"
  static override description = helpText(
    'Each claim is a sentence of a paper with an experiment: setting, statistic and decision rule are fixed beforehand, its runs are ordinary ones, and the verdict is holds, refuted, depends (true under one condition and not under another) or not measurable here. Chance is accounted for over all claims of a run together, at 5 %. Claims about trained models are listed with the numbers of the papers.',
  )
  static override usage = ['claims [CLAIM...] [--quick] [--seed N] [--output DIR] [--explain]']
  static override examples = [
    '<%= config.bin %> claims --quick',
    '<%= config.bin %> claims H6 H13 --output results/claims',
    '<%= config.bin %> claims H10 --explain',
  ]
  static override args = {
    claim: Args.string({
      ...completedWith(CLAIM_IDS),
      multiple: true,
      description: `claims: ${CLAIM_IDS.join(', ')} (default: all)`,
      parse: async word => present(word, 'claims'),
    }),
  }
  static override flags = {
    quick: toggle('fewer draws and shorter times: about a minute for all claims'),
    explain: Flags.boolean({
      default: false,
      exclusive: ['quick', 'seed', 'threads', 'output', 'resume'],
      description: 'print setting, statistic and rule of each claim, and run nothing',
    }),
    seed: oneNumber(COUNT)({description: 'seed of every random draw (default: 0)'}),
    threads: oneNumber(THREADS)({
      description: 'threads in all, where times are not taken (default: one per processor)',
    }),
    output: oneText({
      char: 'o',
      helpValue: 'DIR',
      description: 'folder of the runs and of claims.json (default: results/claims-<date>-<time>)',
    }),
    resume: toggle('go on with the runs in --output: finished cells are kept'),
  }

  async run() {
    const {args, flags} = await this.parse(Claims)
    const claims = await claimsNamed(args.claim ?? [])
    const {claimsReport, explanation} = await import('../src/claims/report.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    if (flags.explain) {
      const {factsOf} = await import('../src/claims/outcome.js')
      this.print(renderTerminal(claims.flatMap(explanation), this.layout()))
      const facts = claims.map(factsOf)
      return {schema: 'rfa.claim-list/1', claims: facts} satisfies ClaimListDocument
    }
    const {closingLine, runClaims} = await import('../src/cli/run-claims.js')
    const document = await runClaims(claims, flags, {
      argv: [this.config.bin, this.id ?? '', ...this.argv],
      services: this.services,
      note: text => this.note(text),
      caution: text => this.caution(text),
    })
    this.print(renderTerminal(claimsReport(document.claims), this.layout()))
    this.note(closingLine(document))
    if (document.claims.some(isRefuted)) process.exitCode = EXIT_CLAIM_REFUTED
    return document
  }
}

function isRefuted({verdict}: ClaimOutcome): boolean {
  return verdict === 'refuted'
}
