/** A run in a few sentences: what was run, where and when, what it found and what is missing. */
import {z} from 'zod'
import {inputSpec} from '../inputs/spec.js'
import {commandText} from '../report/command-line.js'
import type {PageRun} from '../report/html/summary.js'
import {bytes, plural} from '../report/numbers.js'
import {capital, dateText, listed, numbersListed} from '../report/words.js'
import type {RunManifest} from '../results/folder/manifest.js'
import {shardText} from '../results/folder/shard.js'
import {countRecords} from '../results/folder/summary.js'
import {endedRecords, type Plan} from '../results/record.js'
import type {Verdict} from '../results/verdict.js'
import {causalField, drawAxes, methodAxes} from './axes.js'
import type {Experiment} from './experiment.js'
import {experimentNamed} from './index.js'
import {inputLabel, methodLabel} from './labels.js'
import {type ReportedRun, runName} from './run-report.js'

export async function runSummary(run: ReportedRun): Promise<PageRun> {
  const {manifest, directory} = run
  const experiment = await experimentNamed(manifest.plan.experiment)
  return {
    title: `${manifest.plan.experiment}: ${runName(directory)}`,
    what: whatWasRun(experiment, manifest.plan),
    facts: factsOf(manifest),
    findings: await findingsOf(experiment, run),
    missing: missingFrom(run),
  }
}

/** Fields of plans that the sentence has; each experiment has some of them. */
const describedPlan = z
  .object({
    ...methodAxes,
    ...drawAxes,
    input: inputSpec,
    seq_lens: z.array(z.number()).nullable(),
    head_dims: z.array(z.number()),
    causal: causalField,
    mode: z.string(),
    replicates: z.number(),
  })
  .partial()

/** A plan as a sentence. */
function whatWasRun({title}: Experiment, plan: Plan): string {
  const {methods, input, projections, num_features, seq_lens, head_dims, causal, mode, replicates} =
    describedPlan.parse(plan)
  const what = methods ? ` of ${listed(methods.map(methodLabel))}` : ''
  const parts = [
    ...(input ? [`on ${inputLabel(input)}`] : []),
    ...(mode === undefined ? [] : [`mode ${mode}`]),
    ...(causal === undefined ? [] : [causal ? 'causal' : 'bidirectional']),
    ...(seq_lens ? [numbersListed(seq_lens, 'tokens')] : []),
    ...(head_dims ? [`heads of ${numbersListed(head_dims, 'entries')}`] : []),
    ...(num_features ? [`M=${numbersListed(num_features)}`] : []),
    ...(projections ? [`random matrices ${listed(projections)}`] : []),
    ...(replicates === undefined ? [] : [plural(replicates, 'replicate')]),
  ]
  return `${capital(title)}${what}${parts.map(part => `, ${part}`).join('')}.`
}

function factsOf({created_at, machine, argv, plan}: RunManifest): [string, string][] {
  const {cpu, available_parallelism: cores, memory_bytes, platform, arch, rfa, commit} = machine
  return [
    ['made', dateText(created_at)],
    [
      'machine',
      `${cpu}, ${plural(cores, 'processor')}, ${bytes(memory_bytes)}, ${platform} ${arch}`,
    ],
    ['rfa', commit === null ? rfa : `${rfa}, commit ${commit}`],
    ['seed', String(plan.seed)],
    ['command', commandText(argv)],
  ]
}

/** Highlights of the records, then the answers to the questions of the experiment. */
async function findingsOf(experiment: Experiment, {records}: ReportedRun): Promise<string[]> {
  const highlights = (await experiment.highlights?.(records)) ?? []
  return [...highlights, ...answersText((await experiment.verdicts?.(records)) ?? [])]
}

/** Most open questions that are listed one by one. */
const FEW_OPEN = 2

/** Most certain answers that are listed on the first screen of a page. */
const MOST_CERTAIN = 40

/** Certain answers; then the open questions, or their number if there are many. */
export function answersText(verdicts: readonly Pick<Verdict, 'answer' | 'statement'>[]): string[] {
  const open = verdicts.filter(({answer}) => answer === 'cannot_be_told')
  const certain = verdicts.filter(({answer}) => answer !== 'cannot_be_told')
  const rest = certain.length - MOST_CERTAIN
  const answers = [
    ...certain.slice(0, MOST_CERTAIN).map(({statement}) => statement),
    ...(rest > 0
      ? [`${plural(rest, 'more answer')} of that kind: rfa report --json has all.`]
      : []),
  ]
  if (open.length <= FEW_OPEN) return [...answers, ...open.map(({statement}) => statement)]
  return [
    ...answers,
    `${open.length} questions are inconclusive: intervals contain both answers, or too little was measured.`,
  ]
}

function missingFrom({manifest, records, cells, resumeCommand}: ReportedRun): string[] {
  const {shard} = manifest
  const {failed} = countRecords(records)
  const all = cells ?? records.length
  const ended = endedRecords(records).length
  return [
    ...(ended < all ? [stoppedText(ended, all, resumeCommand)] : []),
    ...(failed > 0 ? [`${plural(failed, 'cell')} of ${all} failed; the report says why.`] : []),
    ...(shard
      ? [`This is shard ${shardText(shard)} of its plan: the other shards have the other cells.`]
      : []),
  ]
}

function stoppedText(done: number, all: number, resumeCommand: string | null): string {
  const rest = `${plural(all - done, 'cell')} of ${all} have not ended yet.`
  return resumeCommand === null ? rest : `${rest} Continue with: ${resumeCommand}`
}
