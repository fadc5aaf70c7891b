import * as Args from '@oclif/core/args'
import {METHOD_NAMES, methodNames, PRESET_NAMES, PROJECTION_NAMES} from '../src/attention/names.js'
import {completedWith, oneNumber, present, toggle} from '../src/cli/flags/kinds.js'
import {POSITIVE_INTEGER} from '../src/cli/flags/ranges.js'
import {detailsFlag, onePreset, pluginFlag} from '../src/cli/flags/shared.js'
import type {
  FieldsDocument,
  MethodsDocument,
  ProjectionsDocument,
} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'
import {EXPERIMENT_NAMES} from '../src/experiments/index.js'
import type {Block} from '../src/report/document.js'

/** What has tables: experiments, and commands that write other tables. */
const TABLE_OWNERS = [...EXPERIMENT_NAMES, 'claims', 'compare']

export default class Methods extends RfaCommand {
  static override summary = 'List the estimators or the projections, or show some of them in full'
  static override description = helpText(
    'Without a name: all estimators by groups. With names: formula, options with defaults, presets with their quirks, facts and advice of each. With --projections the same for random matrices. With --records the meaning of each column of saved tables.',
  )
  static override usage = [
    'methods [NAME...] [--num-features N] [--head-dim N] [--details]',
    'methods [NAME...] --preset NAME',
    'methods [NAME...] --projections',
    'methods [EXPERIMENT...] --records',
  ]
  static override examples = [
    '<%= config.bin %> methods',
    '<%= config.bin %> methods favor-pos rfa',
    '<%= config.bin %> methods --preset performer-pytorch',
    '<%= config.bin %> methods --projections',
    '<%= config.bin %> methods orth --projections',
    '<%= config.bin %> methods error-sweep --records',
    '<%= config.bin %> methods --plugin ./my-estimator.js',
  ]
  static override args = {
    name: Args.string({
      ...completedWith(() => [...methodNames(), ...PROJECTION_NAMES]),
      multiple: true,
      parse: async word => present(word, 'methods'),
      description: `estimators: ${METHOD_NAMES.join(', ')}; with --projections random matrices: ${PROJECTION_NAMES.join(', ')}; with --records the owners of tables: ${TABLE_OWNERS.join(', ')}`,
    }),
  }
  static override flags = {
    preset: onePreset(`what this preset does to each estimator: ${PRESET_NAMES.join(', ')}`, {
      exclusive: ['num-features', 'head-dim'],
    }),
    projections: toggle('the random matrices instead of the estimators', {
      exclusive: ['preset', 'num-features', 'head-dim'],
    }),
    records: toggle(
      'the meaning of each column of saved tables, of all or of the experiments or commands named',
      {exclusive: ['preset', 'projections', 'num-features', 'head-dim']},
    ),
    plugin: pluginFlag('its estimators are listed with the others'),
    details: detailsFlag,
    markdown: toggle('print Markdown, every column included'),
    'num-features': oneNumber(POSITIVE_INTEGER)(
      'M at which the length of phi is shown (default: 256)',
    ),
    'head-dim': oneNumber(POSITIVE_INTEGER)('D at which the length of phi is shown (default: 64)'),
  }

  async run() {
    const {args, flags} = await this.parse(Methods)
    const details = flags.details || flags.markdown
    const describe = await import('../src/cli/describe/describe-methods.js')
    if (flags.records) {
      const {describeFields} = await import('../src/cli/describe/describe-fields.js')
      const {blocks, tables} = await describeFields(args.name)
      await this.show(blocks, flags)
      return {schema: 'rfa.fields/1', tables} satisfies FieldsDocument
    }
    if (flags.projections) {
      const {blocks, projections} = describe.describeProjections(args.name, details)
      await this.show(blocks, flags)
      return {schema: 'rfa.projections/1', projections} satisfies ProjectionsDocument
    }
    const {blocks, methods} = await describe.describeMethods({
      names: args.name ?? [],
      details,
      preset: flags.preset,
      numFeatures: flags['num-features'] ?? 256,
      headDim: flags['head-dim'] ?? 64,
      plugins: [...this.plugins.typed, ...this.plugins.others],
    })
    await this.show(blocks, flags)
    return {schema: 'rfa.methods/1', methods} satisfies MethodsDocument
  }

  private async show(blocks: readonly Block[], {markdown}: {markdown: boolean}): Promise<void> {
    if (markdown) {
      const {renderMarkdown} = await import('../src/report/markdown.js')
      return this.print(renderMarkdown(blocks).trimEnd())
    }
    const {renderTerminal} = await import('../src/report/terminal.js')
    this.print(renderTerminal(blocks, this.layout()))
  }
}
