import {Command} from '@oclif/core/command'
import {ExitError} from '@oclif/core/errors'
import * as Flags from '@oclif/core/flags'
import {expected} from '../../errors.js'
import {type Block, withTexts} from '../../report/document.js'
import {type Layout, layoutOf} from '../../report/layout.js'
import {printable, printableJson, printableStyled} from '../../report/printable.js'
import type {DrawFigure} from '../../report/terminal.js'
import {
  asFlags,
  type ErrorReport,
  errorDocument,
  errorReport,
  formatErrorReport,
} from '../program/error-report.js'
import {exitCodesHelp} from '../program/exit-codes.js'
import {type Invocation, type Services, services} from '../program/services.js'
import {withTypedCommands} from '../program/typed.js'
import {bothWays, opposite, singleDashed, type Typed} from '../program/usage-advice.js'
import type {PluginsAsked, RecordedPlugins} from './plugins.js'

/** Whether a command line, or the environment, names plug-ins that the command takes. */
function asksPlugins({argv, flags}: Typed, env: NodeJS.ProcessEnv): boolean {
  if (!Object.hasOwn(flags, 'plugin')) return false
  return Boolean(env.RFA_PLUGINS) || argv.some(word => /^--plugin(=|$)/.test(word))
}

/** A command's help text: what it does, then the exit codes, which all commands share. */
export function helpText(...paragraphs: string[]): string {
  return [...paragraphs, exitCodesHelp()].join('\n\n')
}

/**
 * What every command has: `--json`, `--quiet`, and errors as one sentence with a code and remedies.
 *
 * Results go to stdout; everything else (progress, notes, errors) to stderr. With `--json` stdout
 * holds one JSON document and nothing else, the error included.
 */
export abstract class RfaCommand extends Command {
  static override enableJsonFlag = true
  static override baseFlags = {
    json: Flags.boolean({
      default: false,
      helpGroup: 'GLOBAL',
      description: 'the whole result as JSON on stdout, and nothing else there',
    }),
    quiet: Flags.boolean({
      default: false,
      helpGroup: 'GLOBAL',
      description: 'no progress and no notes on stderr, only warnings and errors',
    }),
  }

  /** What it has done for it. */
  services: Services = services

  /** Those that the command line and `RFA_PLUGINS` name, for commands with `--plugin`. */
  protected plugins: PluginsAsked = {typed: [], others: []}

  /** @throws {USAGE} for a long flag behind one dash, which the parser would misread */
  protected override async init(): Promise<void> {
    await super.init()
    const slip = singleDashed(this.typed())
    if (slip) {
      throw expected('USAGE', slip.word, 'two dashes before a name', 'one', `write ${slip.meant}`)
    }
    const both = bothWays(this.typed())
    if (both) {
      const got = `both ${both} and ${opposite(both)}`
      throw expected('USAGE', both, 'it or its opposite', got, 'leave one out')
    }
    // flags that take names of estimators are read after that
    if (asksPlugins(this.typed(), process.env)) this.plugins = await this.loadPlugins()
  }

  protected async loadPlugins(): Promise<PluginsAsked> {
    const {pluginsAsked} = await import('./plugins.js')
    return pluginsAsked(this.argv, process.env, await this.recordedPlugins())
  }

  /** What the plan or the run on the command line has recorded of plug-ins, read before any is imported. */
  protected async recordedPlugins(): Promise<RecordedPlugins | undefined> {
    return undefined
  }

  /** Prints a result on stdout; nothing under `--json`. Of escape sequences only our own pass. */
  protected print(text: string): void {
    this.log('%s', printableStyled(text))
  }

  /** Prints a line about the run on stderr, unless `--quiet`. */
  protected note(text: string): void {
    if (this.argv.includes('--quiet')) return
    process.stderr.write(`${printable(withTypedCommands(text, process.env))}\n`)
  }

  /** Prints a warning on stderr, under `--quiet` too; nothing without a text. */
  protected caution(text: string | undefined): void {
    if (text === undefined) return
    const shown = asFlags(text, Object.keys(this.typed().flags))
    process.stderr.write(`warning: ${printable(withTypedCommands(shown, process.env))}\n`)
  }

  /** The command line, and what runs say in addition to their results. */
  protected invocation(): Invocation {
    return {
      argv: [this.config.bin, this.id ?? '', ...this.argv],
      services: this.services,
      note: text => this.note(text),
      caution: text => this.caution(text),
    }
  }

  /** Prints blocks on stdout, with commands as the user types them; nothing under `--json`. */
  protected async printBlocks(blocks: readonly Block[], draw?: DrawFigure): Promise<void> {
    if (this.jsonEnabled()) return
    const {renderTerminal} = await import('../../report/terminal.js')
    const shown = blocks.map(block =>
      withTexts(block, content => withTypedCommands(content, process.env)),
    )
    this.print(renderTerminal(shown, this.layout(), draw))
  }

  /** How wide and how colourful the output may be. */
  protected layout(): Layout {
    return layoutOf(process.stdout, process.env)
  }

  /** Prints the error and leaves with its exit code, under `--json` too. */
  protected override async catch(error: Error): Promise<never> {
    if (error instanceof ExitError) throw error
    const report = errorReport(error, this.typed())
    if (this.jsonEnabled()) this.logJson(this.toErrorJson(report))
    else process.stderr.write(`${formatErrorReport(report)}\n`)
    if (report.code === 'INTERNAL') this.debug(printable(error.stack ?? report.message))
    return this.exit(report.exit) as never
  }

  /** Prints an error in addition to a result, and has its exit code returned at the end. */
  protected complain(error: Error): void {
    const report = errorReport(error, this.typed())
    process.stderr.write(`${formatErrorReport(report)}\n`)
    process.exitCode = report.exit
  }

  /** Blocks in which settings stand as flags. @param flagNames - without dashes. Default: those of this command */
  protected withFlags(
    blocks: readonly Block[],
    flagNames = Object.keys(this.typed().flags),
  ): Block[] {
    return blocks.map(block => withTexts(block, content => asFlags(content, flagNames)))
  }

  /** Prints what `--json` asks for. */
  override logJson(json: unknown): void {
    process.stdout.write(`${printableJson(json)}\n`)
  }

  /** The error as `--json` shows it: four fields, without the parser's own state. */
  protected override toErrorJson(report: ErrorReport): ReturnType<typeof errorDocument> {
    return errorDocument(report)
  }

  /** The command line, with all flags of the command. */
  private typed(): Typed {
    const {flags, baseFlags} = this.ctor as typeof Command
    return {argv: this.argv, flags: {help: {type: 'boolean'}, ...baseFlags, ...flags}}
  }
}
