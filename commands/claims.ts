import * as Args from '@oclif/core/args'
import type {Claim} from '../src/claims/claim.js'
import {CLAIM_IDS, claimsNamed} from '../src/claims/claims/index.js'
import {figureNamed} from '../src/claims/figures/index.js'
import type {ClaimsFlags, Ending} from '../src/cli/claims/claim-runs.js'
import {completedWith, present} from '../src/cli/flags/kinds.js'
import {claimsFlags} from '../src/cli/plans/claims.js'
import type {
  ClaimListDocument,
  FigureDocument,
  FigureFactsDocument,
} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'
import {expected} from '../src/errors.js'
import type {Block} from '../src/report/document.js'

export default class Claims extends RfaCommand {
  static override summary = "Test the papers' claims by experiments"
  static override description = helpText(
    'Each claim is a sentence of a paper with an experiment. Setting, statistic and decision rule are fixed beforehand, and its runs are ordinary ones. The verdict is holds, refuted, depends (true under one condition and false under another), inconclusive (run it again: the machine was busy, draws were too few, or cells failed) or not measurable here (it takes training or hardware). Chance is accounted for over all claims of a run together, at 5 %. Claims about trained models are listed with the numbers of the papers; --with-training judges some on small models.',
    'With --figure it draws a figure of a paper anew and saves its points as a table (CSV), with the numbers of the paper.',
  )
  static override usage = [
    'claims [CLAIM...] [--quick | --with-training] [--strict] [--seed N] [--output DIR] [--explain]',
    'claims --figure NAME [--quick] [--seed N] [--output DIR]',
  ]
  static override examples = [
    '<%= config.bin %> claims --quick',
    '<%= config.bin %> claims H6 H13 --output results/claims',
    '<%= config.bin %> claims H6 H13 --quick --strict',
    '<%= config.bin %> claims H10 --explain',
    '<%= config.bin %> claims H9 H17 H32 H33 --with-training',
    '<%= config.bin %> claims --figure performer-4 --quick',
  ]
  static override args = {
    claim: Args.string({
      ...completedWith(CLAIM_IDS),
      multiple: true,
      description: `claims: ${CLAIM_IDS.join(', ')} (default: all)`,
      parse: async word => present(word, 'claims'),
    }),
  }
  static override flags = claimsFlags

  async run() {
    const {args, flags} = await this.parse(Claims)
    if (flags.figure !== undefined) return this.draw(flags.figure, args.claim ?? [], flags)
    const claims = await claimsNamed(args.claim ?? [])
    if (flags.explain) return this.explain(claims)
    const {closingLine, printedClaims, runClaims} = await import('../src/cli/claims/run-claims.js')
    const {document, ending} = await runClaims(claims, flags, this.invocation())
    await this.show(
      await printedClaims(document.claims, flags.details),
      closingLine(this.config.bin, document, flags.details),
    )
    this.endWith(ending)
    return document
  }

  private async explain(claims: readonly Claim[]): Promise<ClaimListDocument> {
    const {explanation} = await import('../src/claims/report/report.js')
    const {factsOf} = await import('../src/claims/outcome.js')
    await this.show(claims.flatMap(explanation))
    return {schema: 'rfa.claim-list/1', claims: claims.map(factsOf)}
  }

  private async draw(
    name: string,
    claims: readonly string[],
    flags: ClaimsFlags & {explain: boolean},
  ): Promise<FigureDocument | FigureFactsDocument> {
    if (claims.length > 0) {
      const remedy = 'draw the figure and test the claims by two commands'
      throw expected('USAGE', '--figure', 'no claims with it', claims.join(' '), remedy)
    }
    const figure = await figureNamed(name)
    const {figureFacts, figureReport} = await import('../src/claims/figures/report.js')
    if (flags.explain) {
      const {factsOf} = await import('../src/claims/figures/figure.js')
      await this.show(figureFacts(figure))
      return {schema: 'rfa.figure-facts/1', ...factsOf(figure)}
    }
    const {figureLine, runFigure} = await import('../src/cli/claims/run-claims.js')
    const {document, ending} = await runFigure(figure, flags, this.invocation())
    await this.show(figureReport(document), figureLine(document))
    this.endWith(ending)
    return document
  }

  private async show(blocks: readonly Block[], closing?: string): Promise<void> {
    const {renderTerminal} = await import('../src/report/terminal.js')
    this.print(renderTerminal(blocks, this.layout()))
    if (closing !== undefined) this.note(closing)
  }

  private endWith({warnings, exitCode}: Ending): void {
    for (const warning of warnings) this.caution(warning)
    process.exitCode = exitCode
  }
}
