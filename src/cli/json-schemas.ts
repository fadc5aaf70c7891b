import {z} from 'zod'
import {applyRecord} from '../apply/record.js'
import {allExperiments} from '../experiments/index.js'
import {exportRecord} from '../export/record.js'
import {anyPlan, runManifest} from '../results/folder/manifest.js'
import {runSummary} from '../results/folder/summary.js'
import {LINE_CHECKSUM} from '../results/journal/journal-line.js'
import {anyRecord} from '../results/record.js'
import {finishedRunSchema} from '../runner/run-experiment.js'
import {dryRunSchema} from '../runner/schedule/dry-run.js'
import * as documents from './program/json-documents.js'
import {figureList} from './report/write-figures.js'

/** A schema with the name of its file, what it is of, and what its lines have besides in a file of lines. */
type Named = [name: string, title: string, schema: z.ZodType, besides?: object]

/** What a line of a journal ends with. */
const CHECKSUM = {
  [LINE_CHECKSUM]: {
    type: 'string',
    pattern: '^[0-9a-f]{8}$',
    description:
      'In records.jsonl alone: CRC-32 of the bytes of the line in front of the comma before this field.',
  },
}

/**
 * The files' formats and what `--json` prints as JSON Schema (draft 2020-12), for readers in other languages.
 *
 * `$id` is `rfa/` with the name and, where data carry it in `schema`, the version of the format: a relative reference,
 * as there is no place in the web where they lie.
 *
 * @returns schemas by file name, e.g. `bench-record.schema.json`
 */
export async function jsonSchemas(): Promise<Record<string, object>> {
  const all = [...(await fileSchemas()), ...(await documentSchemas())]
  return Object.fromEntries(
    all.map(([name, title, schema, besides]) => {
      const {$schema, ...rest} = z.toJSONSchema(schema, {target: 'draft-2020-12'})
      for (const one of besides ? (rest.oneOf ?? []) : []) Object.assign(one.properties!, besides)
      return [`${name}.schema.json`, {$schema, $id: idOf(name, rest), title, ...rest}]
    }),
  )
}

/** What runs leave in their folders. */
async function fileSchemas(): Promise<Named[]> {
  const experiments = await allExperiments()
  return [
    ...experiments.flatMap(({name, title, plan, record}): Named[] => [
      [`${name}-plan`, `Plan of ${title}`, plan],
      [`${name}-record`, `One cell of ${title}`, record, CHECKSUM],
    ]),
    ['run-manifest', 'manifest.json of a run', runManifest(experiments)],
    ['run-summary', 'summary.json of a run', runSummary],
    ['report-figures', 'figures.json beside the figures of a report', figureList],
  ]
}

/** What commands print. */
async function documentSchemas(): Promise<Named[]> {
  const experiments = await allExperiments()
  const manifest = runManifest(experiments)
  const [plan, record] = [anyPlan(experiments), anyRecord(experiments)]
  return [
    ['dry-run', 'What an experiment prints under --dry-run --json', dryRunSchema(plan)],
    [
      'finished-run',
      'What an experiment or rfa merge prints under --json',
      finishedRunSchema({manifest, record}),
    ],
    ['apply', 'What rfa apply prints under --json', applyRecord],
    ['export', 'What rfa export prints under --json', exportRecord],
    ['slurm', 'What rfa slurm prints under --json', documents.slurmDocument],
    ['report', 'What rfa report prints under --json', documents.reportDocument],
    [
      'comparison',
      'What rfa compare prints under --json, and writes as .json',
      documents.comparisonDocument,
    ],
    [
      'history',
      'What rfa history prints under --json, and writes as .json',
      documents.historyDocument,
    ],
    ['check', 'What rfa check prints under --json', documents.checkDocument],
    [
      'advice-forecast',
      'What rfa advise prints under --dry-run --json',
      documents.adviceForecast(plan),
    ],
    ['advice', 'advise.json, and what rfa advise prints under --json', documents.adviceDocument],
    [
      'model-advice',
      'model-advice.json, and what rfa advise --model prints under --json',
      documents.modelAdviceDocument,
    ],
    ['claims', 'claims.json, and what rfa claims prints under --json', documents.claimsDocument],
    [
      'figure',
      'figure.json, and what rfa claims --figure prints under --json',
      documents.figureDocument,
    ],
    [
      'figure-facts',
      'What rfa claims --figure --explain prints under --json',
      documents.figureFactsDocument,
    ],
    ['claim-list', 'What rfa claims --explain prints under --json', documents.claimListDocument],
    ['completion', 'What rfa completion prints under --json', documents.completionDocument],
    ['methods', 'What rfa methods prints under --json', documents.methodsDocument],
    [
      'projections',
      'What rfa methods --projections prints under --json',
      documents.projectionsDocument,
    ],
    ['fields', 'What rfa methods --records prints under --json', documents.fieldsDocument],
    ['version', 'What rfa --version prints under --json', documents.versionDocument],
    ['doctor', 'What rfa doctor prints under --json', documents.doctorDocument],
    ['error', 'What any command prints under --json when it fails', documents.errorDocumentSchema],
  ]
}

/** A part of a JSON Schema in which the version of a format stands. */
interface Tagged {
  properties?: {schema?: {const?: string}}
  anyOf?: Tagged[]
  oneOf?: Tagged[]
}

function idOf(name: string, schema: object): string {
  const version = tagOf(schema)?.split('/')[1]
  return ['rfa', name, ...(version === undefined ? [] : [version])].join('/')
}

function tagOf({properties, anyOf, oneOf}: Tagged): string | undefined {
  const [first] = anyOf ?? oneOf ?? []
  return properties?.schema?.const ?? (first && tagOf(first))
}
