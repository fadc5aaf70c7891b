/** The first screen of a report page, from what was read. */
import {titleOf as modelTitle} from '../../advice/model/screen.js'
import {answerText} from '../../advice/screen.js'
import {countsText, outcomeText} from '../../claims/report/report.js'
import {runName} from '../../experiments/run-report.js'
import {runSummary} from '../../experiments/run-summary.js'
import {packageVersion} from '../../package.js'
import {commandText} from '../../report/command-line.js'
import type {PageFacts} from '../../report/html/page.js'
import type {PageRun} from '../../report/html/summary.js'
import type {SavedDocument} from '../claims/claims-folder.js'
import {experimentFlagNames} from '../plans/flag-names.js'
import {asFlags} from '../program/error-report.js'
import type {AdviceDocument} from '../program/json-documents.js'
import type {Saved} from './read-saved.js'

/** What a page says beside its blocks. @param argv - command that makes it */
export async function pageFacts(
  all: readonly Saved[],
  argv: readonly string[],
): Promise<PageFacts> {
  const flagNames = experimentFlagNames()
  const typed = (texts: readonly string[]) => texts.map(said => asFlags(said, flagNames))
  const summaries = await Promise.all(
    all.map(one => (one.kind === 'run' ? runSummary(one.run) : documentSummary(one.document))),
  )
  const runs = summaries.map(one => ({
    ...one,
    findings: typed(one.findings),
    missing: typed(one.missing),
  }))
  const [only, ...others] = runs
  const title = others.length === 0 && only ? only.title : `${runs.length} runs of rfa`
  return {title, runs, command: commandText(argv), generator: `rfa ${packageVersion()}`}
}

function documentSummary(document: SavedDocument): PageRun {
  const {directory, effort, seed} = document
  const facts: PageRun['facts'] = [
    ['effort', effort],
    ['seed', String(seed)],
  ]
  if (document.schema === 'rfa.figure/1') {
    const {id, title, notes} = document
    return {
      title: `Figure ${id}: ${runName(directory)}`,
      what: `${title}.`,
      facts,
      findings: [],
      missing: notes,
    }
  }
  if (document.schema === 'rfa.advice/1') return adviceSummary(document, facts)
  if (document.schema === 'rfa.model-advice/2') {
    const {budget, statement, left_out} = document
    return {
      title: `Advice: ${runName(directory)}`,
      what: `${modelTitle(document)}.`,
      facts: [...facts, ['budget', String(budget)]],
      findings: [statement],
      missing: left_out,
    }
  }
  const {claims} = document
  return {
    title: `Claims: ${runName(directory)}`,
    what: `${claims.length === 1 ? 'One claim' : `${claims.length} claims`} of papers on random-feature attention, tried here: ${countsText(claims)}`,
    facts,
    findings: claims.map(outcomeText),
    missing: [],
  }
}

function adviceSummary(advice: AdviceDocument, facts: PageRun['facts']): PageRun {
  const {directory, input, seq_len, metric, tolerance, backend, layers, left_out} = advice
  return {
    title: `Advice: ${runName(directory)}`,
    what: `What could replace exact attention on ${input} at L=${seq_len}, with ${metric} of at most ${tolerance}.`,
    facts: [...facts, ['backend', backend]],
    findings: layers.map(own => {
      const answer = answerText(own, advice)
      return own.layer === null ? answer : `Layer ${own.layer}: ${answer}`
    }),
    missing: left_out,
  }
}
