// As much of Intl as extensions use to print numbers and dates, in English.
//
// The engine has no locale data. Segmenter asks the host for grapheme clusters and words; the rest
// writes the en-US form whatever locale is named. Dates use the engine's local time, or that of a zone the host knows.

import { host, info } from "./bridge.js";

const group = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

const UNITS = [["T", 1e12], ["B", 1e9], ["M", 1e6], ["K", 1e3]];
const CURRENCY = { USD: "$", EUR: "€", GBP: "£", JPY: "¥" };

function rounded(value, least, most) {
  let text = value.toFixed(Math.min(most, 20));
  if (text.includes(".")) {
    const [whole, part] = text.split(".");
    let fraction = part;
    while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
    text = fraction ? `${whole}.${fraction}` : whole;
  }
  return text;
}

export function formatNumber(value, options = {}) {
  if (typeof value === "bigint") return group(value.toString());
  const number = Number(value);
  if (Number.isNaN(number)) return "NaN";
  const style = options.style ?? "decimal";
  const money = style === "currency";
  const percent = style === "percent";
  let size = Math.abs(percent ? number * 100 : number);
  let unit = "";
  if (options.notation === "compact") {
    const found = UNITS.find(([, limit]) => size >= limit);
    if (found) {
      unit = found[0];
      size /= found[1];
    }
  }
  const compact = options.notation === "compact";
  const coins = money && ["JPY", "KRW", "VND", "CLP"].includes(options.currency) ? 0 : 2;
  const least = options.minimumFractionDigits ?? (money ? coins : 0);
  const usual = money ? coins : percent ? 0 : compact ? (size < 10 ? 1 : 0) : 3;
  const most = options.maximumFractionDigits ?? Math.max(least, usual);
  let text;
  if (size === Infinity) text = "∞";
  else if (options.maximumSignificantDigits) text = String(Number(size.toPrecision(options.maximumSignificantDigits)));
  else text = rounded(size, least, most);
  const [whole, part] = text.split(".");
  const padded = options.minimumIntegerDigits ? whole.padStart(options.minimumIntegerDigits, "0") : whole;
  text = (options.useGrouping === false ? padded : group(padded)) + (part ? `.${part}` : "") + unit;
  if (money) text = (CURRENCY[options.currency] ?? `${options.currency} `) + text;
  if (percent) text += "%";
  if (style === "unit") text += unitOf(options, text === "1");
  const negative = number < 0 || Object.is(number, -0);
  return `${negative ? "-" : options.signDisplay === "always" ? "+" : ""}${text}`;
}

// Units as English has them: short, and narrow; others by their names.
const SHORT_UNITS = {
  second: ["sec", "s"], minute: ["min", "m"], hour: ["hr", "h"], day: ["day", "d"], week: ["wk", "w"], month: ["mth", "m"], year: ["yr", "y"], millisecond: ["ms", "ms"], byte: ["byte", "B"],
  kilobyte: ["kB", "kB"], megabyte: ["MB", "MB"], gigabyte: ["GB", "GB"], terabyte: ["TB", "TB"], bit: ["bit", "bit"], percent: ["%", "%"], kilometer: ["km", "km"], meter: ["m", "m"], celsius: ["°C", "°C"],
};
const COUNTED = ["day", "week", "month", "year"];

function unitOf({ unit, unitDisplay = "short" }, isOne) {
  const name = String(unit);
  if (unitDisplay === "long") return ` ${name}${isOne ? "" : "s"}`;
  const [short, narrow] = SHORT_UNITS[name] ?? [name, name];
  if (unitDisplay === "narrow" || /[%°]/.test(short)) return narrow;
  return ` ${short}${!isOne && COUNTED.includes(name) ? "s" : ""}`;
}

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const two = (value) => String(value).padStart(2, "0");
const DATE_KEYS = ["weekday", "year", "month", "day"];
const TIME_KEYS = ["hour", "minute", "second", "fractionalSecondDigits"];
const NUMERIC_DATE = { year: "numeric", month: "numeric", day: "numeric" };
const NUMERIC_TIME = { hour: "numeric", minute: "2-digit", second: "2-digit" };
const DATE_STYLES = {
  full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  long: { year: "numeric", month: "long", day: "numeric" },
  medium: { year: "numeric", month: "short", day: "numeric" },
  short: { year: "2-digit", month: "numeric", day: "numeric" },
};

// How dates in numbers are written where that is not as in American English: the order, what stands between, whether two letters
// always stand, what stands before the time, and whether its hour may have one. These write it with 24 hours.
const ISO = { order: "ymd", between: "-", padded: true, before: " " };
const ORDERS = {
  sv: ISO, lt: ISO, "fr-CA": ISO, "en-CA": { ...ISO, before: ", ", half: true },
  "en-GB": { order: "dmy", between: "/", padded: true, before: ", " }, fr: { order: "dmy", between: "/", padded: true, before: " " },
  es: { order: "dmy", between: "/", before: ", ", short: true }, it: { order: "dmy", between: "/", padded: true, before: ", " }, pt: { order: "dmy", between: "/", padded: true, before: ", " },
  de: { order: "dmy", between: ".", before: ", " },
};

const orderOf = (locale) => {
  const name = String([].concat(locale ?? [])[0] ?? "");
  return ORDERS[name] ?? ORDERS[name.split("-")[0]];
};

function fields(options, wanted) {
  const { dateStyle, timeStyle } = options;
  if (dateStyle || timeStyle) {
    return {
      ...options,
      ...(dateStyle ? DATE_STYLES[dateStyle] : {}),
      ...(timeStyle ? (timeStyle === "short" ? { hour: "numeric", minute: "2-digit" } : NUMERIC_TIME) : {}),
      ...(timeStyle === "full" || timeStyle === "long" ? { timeZoneName: timeStyle === "full" ? "long" : "short" } : {}),
    };
  }
  const asked = [...DATE_KEYS, ...TIME_KEYS].some((key) => options[key] !== undefined);
  if (asked) return options;
  return { ...options, ...(wanted !== "time" ? NUMERIC_DATE : {}), ...(wanted !== "date" ? NUMERIC_TIME : {}) };
}

const literal = (value) => ({ type: "literal", value });
const joined = (parts) => parts.map((part) => part.value).join("");

/** Lists of parts, with `between` where two stand beside each other. */
function row(lists, between) {
  return lists.filter((list) => list.length > 0).flatMap((list, i) => (i === 0 ? list : [literal(between), ...list]));
}

// Zones whose short names people write in English; others are told by how far they are from UTC.
const NAMED_ZONE = /^(?:America|US|Pacific)\//;
const ZONE_NAME = /^(?:[ECMP]|AK)[SD]T$|^HST$/;

/** The zone that a name means, with minutes east of UTC at that time. UTC is answered without the host. */
function zoneAt(name, time) {
  if (/^(?:utc|gmt|etc\/utc|etc\/gmt)$/i.test(name)) return { offset: 0, abbreviation: "UTC", name: "UTC" };
  const fixed = /^([+-])(\d{2}):?(\d{2})?$/.exec(name);
  if (fixed) return { offset: (fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3] ?? 0)), abbreviation: "", name };
  const found = host.zone(name, time);
  if (!found) throw new RangeError(`Invalid time zone specified: ${name}`);
  return found;
}

function zoneName(style, { offset, abbreviation, name }) {
  if (style === "short" && (ZONE_NAME.test(abbreviation) ? NAMED_ZONE.test(name) : abbreviation === "UTC")) return abbreviation;
  if (style === "long" && abbreviation === "UTC") return "Coordinated Universal Time";
  const size = Math.abs(offset);
  const [hours, minutes] = [Math.floor(size / 60), size % 60];
  if (size === 0) return "GMT";
  const sign = offset < 0 ? "-" : "+";
  if (style === "longOffset" || style === "long") return `GMT${sign}${two(hours)}:${two(minutes)}`;
  return `GMT${sign}${hours}${minutes ? `:${two(minutes)}` : ""}`;
}

/** The parts of a date as `formatToParts` tells them. */
function dateParts(date, options, wanted, locale) {
  if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
  const zone = options.timeZone === undefined ? undefined : zoneAt(String(options.timeZone), date.getTime());
  const shown = zone ? new Date(date.getTime() + zone.offset * 60_000) : date;
  const get = (name) => shown[`get${zone ? "UTC" : ""}${name}`]();
  const want = fields(options, wanted);
  const order = orderOf(locale);
  const part = (type, value) => (value === "" ? [] : [{ type, value }]);
  const yearText = want.year === "2-digit" ? two(get("FullYear") % 100) : want.year ? String(get("FullYear")) : "";
  const dayText = want.day ? (want.day === "2-digit" ? two(get("Date")) : String(get("Date"))) : "";
  const weekday = part("weekday", want.weekday ? (want.weekday === "long" ? DAYS[get("Day")] : DAYS[get("Day")].slice(0, want.weekday === "narrow" ? 1 : 3)) : "");
  const [year, day] = [part("year", yearText), part("day", dayText)];
  const sections = [];
  if (want.month === "long" || want.month === "short" || want.month === "narrow") {
    const name = MONTHS[get("Month")];
    const month = part("month", want.month === "long" ? name : name.slice(0, want.month === "narrow" ? 1 : 3));
    // A month alone stands beside its year.
    sections.push(row(day.length > 0 ? [weekday, row([month, day], " "), year] : [weekday, row([month, year], " ")], ", "));
  } else {
    const month = want.month ? (want.month === "2-digit" ? two(get("Month") + 1) : String(get("Month") + 1)) : "";
    const padded = (text) => (order?.padded && want.year && text ? text.padStart(2, "0") : text);
    const numbers = { y: year, m: part("month", padded(month)), d: part("day", padded(dayText)) };
    const slashes = row([...(order?.order ?? "mdy")].map((one) => numbers[one]), order?.between ?? "/");
    sections.push(row([weekday, slashes], ", "));
  }
  if (want.hour || want.minute || want.second || want.fractionalSecondDigits) {
    const half = want.hour12 ?? (want.hourCycle ? want.hourCycle.startsWith("h1") : !order || order.half === true);
    const hours = get("Hours");
    // Without `hourCycle`, "not twelve" counts from 1 where twelve are usual.
    const hour = half ? hours % 12 || 12 : want.hour12 === false && !order ? hours || 24 : hours;
    const clock = [];
    if (want.hour) clock.push(part("hour", want.hour === "2-digit" || !(half || order?.short) ? two(hour) : String(hour)));
    if (want.minute) clock.push(part("minute", want.hour || want.minute === "2-digit" ? two(get("Minutes")) : String(get("Minutes"))));
    if (want.second) clock.push(part("second", want.minute || want.second === "2-digit" ? two(get("Seconds")) : String(get("Seconds"))));
    const time = row(clock, ":");
    const digits = want.fractionalSecondDigits;
    if (digits) {
      const fraction = String(get("Milliseconds")).padStart(3, "0").slice(0, digits);
      time.push(...(time.length > 0 ? [literal(".")] : []), ...part("fractionalSecond", fraction));
    }
    if (want.hour && half) time.push(literal(" "), ...part("dayPeriod", order ? (hours < 12 ? "a.m." : "p.m.") : hours < 12 ? "AM" : "PM"));
    sections.push(time);
  }
  const parts = row(sections, order?.before ?? (want.month === "long" && !order ? " at " : ", "));
  if (want.timeZoneName) {
    const here = zone ?? zoneAt(localZone, date.getTime());
    parts.push(literal(sections.length > 1 || want.hour ? " " : ", "), ...part("timeZoneName", zoneName(want.timeZoneName, here)));
  }
  return parts;
}

const localZone = info.timeZone ?? "UTC";

export function formatDate(date, options = {}, wanted = "both", locale = undefined) {
  return Number.isNaN(date.getTime()) ? "Invalid Date" : joined(dateParts(date, options, wanted, locale));
}

/** What each letter of a number in words is. */
function numberParts(text) {
  let isFraction = false;
  return (text.match(/\d+|[-+,.%∞]|[TBMK]$|NaN|[^\d\s]+|\s+/g) ?? []).map((value) => {
    if (/^\d/.test(value)) return { type: isFraction ? "fraction" : "integer", value };
    if (value === ".") isFraction = true;
    const types = { "-": "minusSign", "+": "plusSign", ",": "group", ".": "decimal", "%": "percentSign", "∞": "infinity", NaN: "nan", T: "compact", B: "compact", M: "compact", K: "compact" };
    return { type: types[value] ?? (/^\s/.test(value) ? "literal" : "currency"), value };
  });
}

const locales = { supportedLocalesOf: (list) => [].concat(list ?? []) };

class NumberFormat {
  #options;
  constructor(_locale, options = {}) {
    this.#options = options ?? {};
    this.format = (value) => formatNumber(value, this.#options);
  }
  formatToParts(value) {
    return numberParts(this.format(value));
  }
  resolvedOptions() {
    return { locale: "en-US", ...this.#options };
  }
}

class DateTimeFormat {
  #locale;
  #options;
  constructor(locale, options = {}) {
    this.#locale = locale;
    this.#options = { ...options };
    if (this.#options.timeZone !== undefined) this.#options.timeZone = zoneAt(String(this.#options.timeZone), 0).name;
    this.format = (date) => joined(this.formatToParts(date));
  }
  formatToParts(date) {
    return dateParts(date === undefined ? new Date() : new Date(date), this.#options, "date", this.#locale);
  }
  formatRange(from, to) {
    const [first, last] = [this.format(from), this.format(to)];
    return first === last ? first : `${first} – ${last}`;
  }
  resolvedOptions() {
    return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: localZone, ...this.#options };
  }
}

class Segmenter {
  #granularity;
  constructor(_locale, options = {}) {
    this.#granularity = options?.granularity ?? "grapheme";
  }
  segment(input) {
    const text = String(input);
    const kind = this.#granularity;
    const pieces = () => {
      let index = 0;
      return host.segment(text, kind).map((segment) => {
        const item = { segment, index, input: text };
        if (kind === "word") item.isWordLike = /[\p{L}\p{N}]/u.test(segment);
        index += segment.length;
        return item;
      });
    };
    return {
      [Symbol.iterator]: () => pieces()[Symbol.iterator](),
      containing: (at = 0) => pieces().find((piece) => at >= piece.index && at < piece.index + piece.segment.length),
    };
  }
  resolvedOptions() {
    return { locale: "en-US", granularity: this.#granularity };
  }
}

class Collator {
  #options;
  constructor(_locale, options = {}) {
    this.#options = options ?? {};
    this.compare = (a, b) => compareText(String(a), String(b), this.#options);
  }
  resolvedOptions() {
    return { locale: "en-US", ...this.#options };
  }
}

export function compareText(a, b, options = {}) {
  const fold = (text) => (options.sensitivity === "base" || options.sensitivity === "accent" ? text.toLowerCase() : text);
  if (options.numeric) {
    const split = (text) => fold(text).match(/\d+|\D+/g) ?? [];
    const [left, right] = [split(a), split(b)];
    for (let i = 0; i < Math.min(left.length, right.length); i++) {
      const both = /^\d/.test(left[i]) && /^\d/.test(right[i]);
      const order = both ? Number(left[i]) - Number(right[i]) : left[i] < right[i] ? -1 : left[i] > right[i] ? 1 : 0;
      if (order) return Math.sign(order);
    }
    return Math.sign(left.length - right.length);
  }
  const [low, other] = [fold(a).toLowerCase(), fold(b).toLowerCase()];
  if (low !== other) return low < other ? -1 : 1;
  // Same letters: small ones first, as locale-aware sorting has it.
  return fold(a) === fold(b) ? 0 : fold(a) > fold(b) ? -1 : 1;
}

class PluralRules {
  #ordinal;
  constructor(_locale, options = {}) {
    this.#ordinal = options?.type === "ordinal";
  }
  select(value) {
    if (!this.#ordinal) return Math.abs(value) === 1 ? "one" : "other";
    const [ten, hundred] = [value % 10, value % 100];
    if (ten === 1 && hundred !== 11) return "one";
    if (ten === 2 && hundred !== 12) return "two";
    return ten === 3 && hundred !== 13 ? "few" : "other";
  }
}

class ListFormat {
  #word;
  constructor(_locale, options = {}) {
    this.#word = options?.type === "disjunction" ? "or" : "and";
  }
  format(items) {
    const list = [...items];
    if (list.length < 2) return list[0] ?? "";
    if (list.length === 2) return `${list[0]} ${this.#word} ${list[1]}`;
    return `${list.slice(0, -1).join(", ")}, ${this.#word} ${list.at(-1)}`;
  }
}

const NEAR = { day: ["yesterday", "today", "tomorrow"], hour: [, "this hour"], minute: [, "this minute"], second: [, "now"] };

class RelativeTimeFormat {
  #auto;
  constructor(_locale, options = {}) {
    this.#auto = options?.numeric === "auto";
  }
  format(value, unit) {
    const name = String(unit).replace(/s$/, "");
    const near = this.#auto && [-1, 0, 1].includes(value) ? (NEAR[name] ?? [`last ${name}`, `this ${name}`, `next ${name}`])[value + 1] : undefined;
    if (near !== undefined) return near;
    const size = Math.abs(value);
    const text = `${formatNumber(size)} ${name}${size === 1 ? "" : "s"}`;
    return value < 0 || Object.is(value, -0) ? `${text} ago` : `in ${text}`;
  }
}

// These may be called without `new`.
const callable = (Kind) => new Proxy(Kind, { apply: (_target, _self, args) => new Kind(...args) });

export const Intl = { NumberFormat: callable(NumberFormat), DateTimeFormat: callable(DateTimeFormat), Segmenter, Collator: callable(Collator), PluralRules, ListFormat, RelativeTimeFormat };
for (const Kind of Object.values(Intl)) Object.assign(Kind, locales);
Intl.getCanonicalLocales = (list) => [].concat(list ?? []);

/** Gives numbers, dates and strings their locale methods in the form above. */
export function patchLocaleMethods() {
  const set = (proto, name, value) => Object.defineProperty(proto, name, { value, writable: true, configurable: true });
  set(Number.prototype, "toLocaleString", function toLocaleString(_locale, options) {
    return formatNumber(Number(this), options ?? {});
  });
  set(BigInt.prototype, "toLocaleString", function toLocaleString() {
    return formatNumber(BigInt(this));
  });
  set(Date.prototype, "toLocaleString", function toLocaleString(locale, options) {
    return formatDate(this, options ?? {}, "both", locale);
  });
  set(Date.prototype, "toLocaleDateString", function toLocaleDateString(locale, options) {
    return formatDate(this, options ?? {}, "date", locale);
  });
  set(Date.prototype, "toLocaleTimeString", function toLocaleTimeString(locale, options) {
    return formatDate(this, options ?? {}, "time", locale);
  });
  set(String.prototype, "localeCompare", function localeCompare(other, _locale, options) {
    return compareText(String(this), String(other), options ?? {});
  });
}
