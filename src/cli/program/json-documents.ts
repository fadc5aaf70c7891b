/** What commands print under `--json`: one document each, told apart by its `schema`. */
import {z} from 'zod'
import {modelAdviceFacts} from '../../advice/model/schema.js'
import {adviceFacts} from '../../advice/schema.js'
import {CHECK_GROUPS} from '../../check/types.js'
import {EFFORTS} from '../../claims/claim.js'
import {figureFacts, figurePoint} from '../../claims/figures/figure.js'
import {claimFacts, claimOutcome} from '../../claims/outcome.js'
import {historyFacts} from '../../compare/history-schema.js'
import {comparisonFacts} from '../../compare/schema.js'
import {checkedSchema} from '../../report/check.js'
import {diagnosisFacts} from '../../report/doctor.js'
import {tableFactsSchema} from '../../report/fields.js'
import {methodFactsSchema} from '../../report/methods.js'
import {projectionFactsSchema} from '../../report/projections.js'
import {findings} from '../../results/findings.js'
import {runCounts} from '../../results/folder/summary.js'
import type {Plan} from '../../results/record.js'
import {verdictSchema} from '../../results/verdict.js'

/** The `schema` of a document: its name and version. */
function tag<Name extends string>(name: Name) {
  return z.literal(name).describe('Name and version of this format.')
}

/** `rfa --version`, which bin/start.js writes. */
export const versionDocument = z.object({
  schema: tag('rfa.version/1'),
  version: z.string().describe('Version of rfa.'),
  platform: z.string().describe('Operating system, as Node calls it.'),
  arch: z.string().describe('Kind of processor, as Node calls it.'),
  node: z.string().describe('Version of Node.'),
})

export const doctorDocument = z.object({schema: tag('rfa.doctor/1'), ...diagnosisFacts})
export type DoctorDocument = z.infer<typeof doctorDocument>

export const checkDocument = z.object({
  schema: tag('rfa.check/1'),
  groups: z.array(z.enum(CHECK_GROUPS)).describe('Kinds of checks that were asked for.'),
  seed: z.int().describe('Seed of inputs, projections and noise.'),
  draws: z
    .int()
    .nullable()
    .describe(
      'Draws of each statistical comparison, four times that for variances; `null`: until it is decided.',
    ),
  seconds: z
    .number()
    .describe('Processor time that each statistical check may take where `draws` is null, in s.'),
  passed: z.boolean().describe('No check of any estimator failed.'),
  estimators: z.array(checkedSchema).describe('The estimators, in the order of the command line.'),
})
export type CheckDocument = z.infer<typeof checkDocument>

/** What runs of claims and figures were made for. */
const requested = {
  effort: z.enum(EFFORTS).describe('How much was spent on draws and times.'),
  seed: z.int().describe('Seed of every random draw.'),
}

export const adviceDocument = adviceFacts.extend({
  schema: tag('rfa.advice/1'),
  directory: z.string().describe('Folder of the runs and of advise.json.'),
})
export type AdviceDocument = z.infer<typeof adviceDocument>

/** `rfa advise --model`. */
export const modelAdviceDocument = modelAdviceFacts.extend({
  schema: tag('rfa.model-advice/2'),
  directory: z.string().describe('Folder of the runs and of model-advice.json.'),
})
export type ModelAdviceDocument = z.infer<typeof modelAdviceDocument>

const seconds = (what: string) => z.number().meta({unit: 's', description: what})

/** One run of {@link adviceForecast}. @param plan - schema of its plan */
const forecastOf = (plan: z.ZodType<Plan>) =>
  z.object({
    plan: plan.describe('The plan as it would run.'),
    cells: z.int().describe('Number of its cells.'),
    predicted_seconds: seconds('Predicted time, a rough figure.'),
  })

/** `rfa advise --dry-run`. @param plan - schema of its plans */
export const adviceForecast = (plan: z.ZodType<Plan>) =>
  z.object({
    schema: tag('rfa.advice-forecast/1'),
    cells: z.int().describe('Cells of all runs.'),
    predicted_seconds: seconds('Predicted time of all runs.'),
    runs: z
      .object({
        error: forecastOf(plan).describe('Errors on the input.'),
        time: forecastOf(plan).describe('Times, if every method runs on the input.'),
        norms: forecastOf(plan).describe(
          'Errors at smaller norms, which are measured only if nothing qualifies.',
        ),
      })
      .describe('The runs, in folders of these names.'),
  })
export type AdviceForecast = z.infer<ReturnType<typeof adviceForecast>>

export const claimsDocument = z.object({
  schema: tag('rfa.claims/1'),
  ...requested,
  directory: z.string().describe('Folder of the runs and of claims.json.'),
  claims: z.array(claimOutcome).describe('The claims that were asked for, in their order.'),
})
export type ClaimsDocument = z.infer<typeof claimsDocument>

/** `rfa claims --figure`. */
export const figureDocument = z.object({
  schema: tag('rfa.figure/1'),
  ...requested,
  directory: z.string().describe('Folder of the runs, of figure.json and of the points as CSV.'),
  ...figureFacts.shape,
  points: z.array(figurePoint).describe('Points, series by series.'),
  notes: z.array(z.string()).describe('What is missing, and why.'),
  runs: z.array(z.string()).describe('Folders of its runs, below that of the figure.'),
})
export type FigureDocument = z.infer<typeof figureDocument>

/** `rfa claims --figure --explain`. */
export const figureFactsDocument = z.object({
  schema: tag('rfa.figure-facts/1'),
  ...figureFacts.shape,
})
export type FigureFactsDocument = z.infer<typeof figureFactsDocument>

/** `rfa claims --explain`. */
export const claimListDocument = z.object({
  schema: tag('rfa.claim-list/1'),
  claims: z.array(claimFacts).describe('The claims that were asked for, in their order.'),
})
export type ClaimListDocument = z.infer<typeof claimListDocument>

export const methodsDocument = z.object({
  schema: tag('rfa.methods/1'),
  methods: z.array(methodFactsSchema).describe('The estimators that were asked for.'),
})
export type MethodsDocument = z.infer<typeof methodsDocument>

/** `rfa methods --projections`. */
export const projectionsDocument = z.object({
  schema: tag('rfa.projections/1'),
  projections: z.array(projectionFactsSchema).describe('The random matrices that were asked for.'),
})
export type ProjectionsDocument = z.infer<typeof projectionsDocument>

/** `rfa methods --records`. */
export const fieldsDocument = z.object({
  schema: tag('rfa.fields/1'),
  tables: z.array(tableFactsSchema).describe('The tables that runs save.'),
})
export type FieldsDocument = z.infer<typeof fieldsDocument>

export const completionDocument = z.object({
  schema: tag('rfa.completion/1'),
  shell: z.enum(['bash', 'zsh', 'fish']).describe('The shell that reads it.'),
  script: z.string().describe('The script, as it stands on stdout without `--json`.'),
})
export type CompletionDocument = z.infer<typeof completionDocument>

export const comparisonDocument = z.object({
  schema: tag('rfa.comparison/1'),
  ...comparisonFacts.shape,
})
export type ComparisonDocument = z.infer<typeof comparisonDocument>

export const historyDocument = z.object({schema: tag('rfa.history/1'), ...historyFacts.shape})
export type HistoryDocument = z.infer<typeof historyDocument>

export const slurmDocument = z.object({
  schema: tag('rfa.slurm/1'),
  directory: z.string().describe('Folder of scripts, logs, shards and the merged run.'),
  files: z
    .object({
      plan: z.string().describe('The plan that all tasks run.'),
      array: z.string().describe('Script of the array, a task for each shard.'),
      merge: z.string().describe('Script of the merge.'),
      submit: z.string().describe('Shell script that submits both.'),
    })
    .describe('What was written.'),
  merged: z.string().describe('Folder that the merged run will have.'),
  shards: z.int().describe('Parts of the plan.'),
  cells: z.int().describe('Cells of the plan.'),
  cpus: z.int().describe('Processors of a task.'),
  memory: z.string().describe('Memory of a task, as Slurm writes it.'),
  predicted_peak_bytes: z
    .number()
    .meta({unit: 'bytes', description: 'Memory that a task is predicted to take at most.'}),
  predicted_longest_seconds: seconds('Predicted time of the longest shard, a rough figure.'),
  predicted_mean_seconds: seconds('The same of all shards on average.'),
  jobs: z
    .object({
      array: z.string().describe('Number of the array.'),
      merge: z.string().describe('Number of the merge.'),
    })
    .nullable()
    .describe('Jobs as Slurm calls them; `null`: they were not submitted.'),
})
export type SlurmDocument = z.infer<typeof slurmDocument>

export const reportDocument = z.object({
  schema: tag('rfa.report/1'),
  output: z
    .string()
    .nullable()
    .describe('The Markdown file; `null`: it was printed, or only HTML was asked for.'),
  html: z.string().nullable().describe('The HTML page; `null`: it was printed, or not asked for.'),
  svg: z.array(z.string()).optional().describe('Figures as SVG, where they were asked for.'),
  pdf: z.array(z.string()).optional().describe('Figures as PDF, where they were asked for.'),
  png: z.array(z.string()).optional().describe('Figures as PNG, where they were asked for.'),
  tex: z.array(z.string()).optional().describe('Tables as LaTeX, where they were asked for.'),
  csv: z.array(z.string()).optional().describe('Tables as CSV, where they were asked for.'),
  runs: z
    .array(
      z.object({
        directory: z.string().describe('As it was named on the command line.'),
        experiment: z.string().describe('Name of the experiment.'),
        cells: z
          .int()
          .nullable()
          .describe('Cells of its plan; `null`: this version cannot read the plan any more.'),
        counts: runCounts.describe('How the cells with a record ended.'),
        verdicts: z
          .array(verdictSchema)
          .describe('Answers to what the experiment asks, if it asks.'),
        ...findings.shape,
      }),
    )
    .describe('The runs, in the order of the command line.'),
  claims: z
    .array(claimsDocument)
    .optional()
    .describe('Verdicts of the folders of `rfa claims`; absent: none was named.'),
  figures: z
    .array(figureDocument)
    .optional()
    .describe('Figures of the folders of `rfa claims --figure`; absent: none was named.'),
  advice: z
    .array(adviceDocument)
    .optional()
    .describe('Advice of the folders of `rfa advise`; absent: none was named.'),
  model_advice: z
    .array(modelAdviceDocument)
    .optional()
    .describe('Advice of the folders of `rfa advise --model`; absent: none was named.'),
})
export type ReportDocument = z.infer<typeof reportDocument>

/** Any command that fails, whole. */
export const errorDocumentSchema = z.object({
  schema: tag('rfa.error/1'),
  error: z
    .object({
      code: z.string().describe('What kind of error; `INTERNAL`: a fault of rfa itself.'),
      message: z.string().describe('What was expected, and what came.'),
      exit: z.int().describe('Exit code of the command.'),
      suggestions: z.array(z.string()).describe('What to try.'),
    })
    .describe('The error.'),
})
