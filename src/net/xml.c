/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/xml.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum {
    NAME_MAX_LEN = 256,
    ENTITY_MAX_LEN = 16,
    CODE_MAX = 0x10ffff,
};

static bool failed(const struct xml *xml)
{
    return xml->what != NULL;
}

void xml_fail(struct xml *xml, const char *what)
{
    if (!xml->what)
        xml->what = what;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Does this text come next? */
static bool sees(const struct xml *xml, const char *text)
{
    size_t len = strlen(text);

    return xml->len - xml->pos >= len &&
           memcmp(xml->text + xml->pos, text, len) == 0;
}

static bool takes(struct xml *xml, const char *text)
{
    if (!sees(xml, text))
        return false;
    xml->pos += strlen(text);
    return true;
}

static void expect(struct xml *xml, const char *text, const char *what)
{
    if (!failed(xml) && !takes(xml, text))
        xml_fail(xml, what);
}

static void skip_blanks(struct xml *xml)
{
    while (!failed(xml) && xml->pos < xml->len && is_blank(xml->text[xml->pos]))
        xml->pos++;
}

/* Find the next `text`; fail if there is none.  Returns the bytes before it. */
static size_t find(struct xml *xml, const char *text)
{
    const char *from = xml->text + xml->pos;
    const char *at = memmem(from, xml->len - xml->pos, text, strlen(text));

    if (at)
        return (size_t)(at - from);
    xml_fail(xml, "XML ends inside of an element");
    return 0;
}

/* Skip markup that begins with `open`, if it is there. */
static bool takes_region(struct xml *xml, const char *open, const char *close)
{
    if (!takes(xml, open))
        return false;
    xml->pos += find(xml, close);
    expect(xml, close, "");
    return true;
}

static bool takes_comment(struct xml *xml)
{
    return takes_region(xml, "<!--", "-->") || takes_region(xml, "<?", "?>");
}

static bool is_name_char(char c)
{
    return !is_blank(c) && c != '\0' && !strchr("<>/=&'\"!?;", c);
}

static size_t take_name(struct xml *xml)
{
    size_t off = xml->pos;

    while (xml->pos < xml->len && is_name_char(xml->text[xml->pos]))
        xml->pos++;
    if (xml->pos == off || xml->pos - off > NAME_MAX_LEN)
        xml_fail(xml, "XML has no valid name here");
    return xml->pos - off;
}

/* Skip name="value". */
static void skip_attribute(struct xml *xml)
{
    char quote[2] = "";
    size_t len;

    take_name(xml);
    skip_blanks(xml);
    expect(xml, "=", "XML attribute has no value");
    skip_blanks(xml);
    if (failed(xml))
        return;
    if (!sees(xml, "\"") && !sees(xml, "'")) {
        xml_fail(xml, "XML attribute has no quotes");
        return;
    }
    quote[0] = xml->text[xml->pos++];
    len = find(xml, quote);
    if (memchr(xml->text + xml->pos, '<', len))
        xml_fail(xml, "XML attribute contains '<'");
    if (!failed(xml))
        xml->pos += len + 1;
}

static void skip_attributes(struct xml *xml)
{
    while (!failed(xml)) {
        size_t off = xml->pos;

        skip_blanks(xml);
        if (sees(xml, ">") || sees(xml, "/>"))
            return;
        if (xml->pos == off || xml->pos == xml->len)
            xml_fail(xml, "XML tag does not end");
        else
            skip_attribute(xml);
    }
}

/* Take a start tag, of which '<' is the next byte. */
static bool enter(struct xml *xml)
{
    size_t off = ++xml->pos;
    size_t len = take_name(xml);

    skip_attributes(xml);
    if (xml->depth == XML_DEPTH_MAX)
        xml_fail(xml, "XML elements are too deep");
    if (failed(xml))
        return false;
    xml->closed = takes(xml, "/>");
    expect(xml, xml->closed ? "" : ">", "XML tag does not end");
    xml->open[xml->depth].off = off;
    xml->open[xml->depth].len = len;
    xml->depth++;
    return true;
}

static void pop(struct xml *xml)
{
    xml->closed = false;
    xml->depth--;
    xml->ended = xml->depth == 0;
}

/* Take the end tag of the innermost element, of which "</" was taken. */
static void leave(struct xml *xml)
{
    size_t off = xml->pos;
    size_t len = take_name(xml);
    unsigned top = xml->depth - 1;

    if (failed(xml))
        return;
    if (len != xml->open[top].len ||
        memcmp(xml->text + off, xml->text + xml->open[top].off, len) != 0) {
        xml->pos = off;
        xml_fail(xml, "XML end tag belongs to another element");
        return;
    }
    skip_blanks(xml);
    expect(xml, ">", "XML tag does not end");
    pop(xml);
}

void xml_begin(struct xml *xml, const char *text, size_t len)
{
    *xml = (struct xml){ .text = text, .len = len };
    if (len > XML_LEN_MAX) {
        xml->len = 0;
        xml_fail(xml, "XML is too long");
    }
    takes(xml, "\xef\xbb\xbf");
}

/* Skip markup that may come before or after the outermost element. */
static void skip_outside(struct xml *xml)
{
    do
        skip_blanks(xml);
    while (takes_comment(xml));
}

static bool enter_outermost(struct xml *xml)
{
    if (xml->ended)
        return false;
    skip_outside(xml);
    if (sees(xml, "<!"))
        xml_fail(xml, "XML has a document type");
    else if (!sees(xml, "<"))
        xml_fail(xml, "XML has no element");
    return !failed(xml) && enter(xml);
}

bool xml_next(struct xml *xml)
{
    if (failed(xml))
        return false;
    if (xml->depth == 0)
        return enter_outermost(xml);
    if (xml->closed) {
        pop(xml);
        return false;
    }
    while (!failed(xml)) {
        xml->pos += find(xml, "<");
        if (failed(xml))
            return false;
        if (takes(xml, "</")) {
            leave(xml);
            return false;
        }
        if (!takes_comment(xml) && !takes_region(xml, "<![CDATA[", "]]>"))
            return enter(xml);
    }
    return false;
}

bool xml_is(const struct xml *xml, const char *name)
{
    const char *own;
    const char *colon;
    size_t len;

    if (failed(xml) || xml->depth == 0)
        return false;
    own = xml->text + xml->open[xml->depth - 1].off;
    len = xml->open[xml->depth - 1].len;
    colon = memrchr(own, ':', len);
    if (colon) {
        len -= (size_t)(colon + 1 - own);
        own = colon + 1;
    }
    return len == strlen(name) && memcmp(own, name, len) == 0;
}

static bool is_char(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    return code <= CODE_MAX && (code < 0xd800 || code > 0xdfff) &&
           code != 0xfffe && code != 0xffff;
}

static void add_char(uint32_t code, struct secret *out)
{
    char bytes[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (size_t i = len - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    bytes[0] = (char)(marks[len] | code);
    secret_add_bytes(out, bytes, len);
}

/* The character of a reference #N or #xN; 0, which is none, if it is wrong. */
static uint32_t parse_reference(const char *text, size_t len)
{
    unsigned base = len > 1 && text[1] == 'x' ? 16 : 10;
    size_t first = base == 16 ? 2 : 1;
    uint32_t code = 0;

    for (size_t i = first; i < len && code <= CODE_MAX; i++) {
        const char *digits = "0123456789abcdef";
        char lower =
            text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] | 0x20) : text[i];
        const char *digit = memchr(digits, lower, base);

        if (!digit)
            return 0;
        code = code * base + (uint32_t)(digit - digits);
    }
    return is_char(code) ? code : 0;
}

static uint32_t parse_entity(const char *text, size_t len)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {
        { "amp", '&' },  { "lt", '<' },    { "gt", '>' },
        { "quot", '"' }, { "apos", '\'' },
    };

    if (len > 0 && text[0] == '#')
        return parse_reference(text, len);
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
        if (len == strlen(entities[i].name) &&
            memcmp(text, entities[i].name, len) == 0)
            return (uint32_t)entities[i].c;
    return 0;
}

/* Take an entity, of which '&' is the next byte. */
static void read_entity(struct xml *xml, struct secret *out)
{
    const char *name = xml->text + xml->pos + 1;
    size_t left = xml->len - xml->pos - 1;
    const char *end =
        memchr(name, ';', left < ENTITY_MAX_LEN ? left : ENTITY_MAX_LEN);
    uint32_t code = end ? parse_entity(name, (size_t)(end - name)) : 0;

    if (code == 0) {
        xml_fail(xml, "XML entity is unknown");
        return;
    }
    add_char(code, out);
    xml->pos += (size_t)(end - name) + 2;
}

/* Add bytes that stand for themselves. */
static void read_plain(struct xml *xml, size_t len, struct secret *out)
{
    for (size_t i = 0; i < len; i++) {
        if (is_char((unsigned char)xml->text[xml->pos + i]))
            continue;
        xml->pos += i;
        xml_fail(xml, "XML has a control character");
        return;
    }
    secret_add_bytes(out, xml->text + xml->pos, len);
    xml->pos += len;
}

static size_t plain_len(const struct xml *xml)
{
    size_t i = xml->pos;

    while (i < xml->len && xml->text[i] != '<' && xml->text[i] != '&')
        i++;
    return i - xml->pos;
}

/* Take the next part of a text.  Returns false at the end tag. */
static bool read_part(struct xml *xml, struct secret *out)
{
    size_t len = plain_len(xml);

    if (len > 0) {
        read_plain(xml, len, out);
    } else if (xml->pos == xml->len) {
        xml_fail(xml, "XML ends inside of an element");
    } else if (sees(xml, "&")) {
        read_entity(xml, out);
    } else if (takes(xml, "<![CDATA[")) {
        len = find(xml, "]]>");
        read_plain(xml, len, out);
        expect(xml, "]]>", "XML ends inside of an element");
    } else if (takes(xml, "</")) {
        leave(xml);
        return false;
    } else if (!takes_comment(xml)) {
        xml_fail(xml, "XML element has no text");
    }
    return !failed(xml);
}

void xml_read(struct xml *xml, struct secret *out)
{
    size_t pos = xml->pos;
    size_t off = out->len;

    if (failed(xml) || xml->depth == 0) {
        xml_fail(xml, "XML has no element");
        return;
    }
    secret_add(out, "");
    if (xml->closed) {
        pop(xml);
        return;
    }
    while (read_part(xml, out))
        continue;
    if (failed(xml) || out->failed || text_is_utf8(out->text + off))
        return;
    xml->pos = pos;
    xml_fail(xml, "XML text is not UTF-8");
}

void xml_skip(struct xml *xml)
{
    unsigned depth = xml->depth;

    while (depth > 0 && !failed(xml) && xml->depth >= depth)
        xml_next(xml);
}

int xml_end(struct xml *xml, struct fault *fault)
{
    if (!failed(xml) && !xml->ended)
        xml_fail(xml, "XML does not end");
    if (!failed(xml))
        skip_outside(xml);
    if (!failed(xml) && xml->pos < xml->len)
        xml_fail(xml, "XML does not end after its element");
    if (failed(xml))
        return fault_set(fault, -EBADMSG, xml->pos, xml->what);
    return 0;
}
