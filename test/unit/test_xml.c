/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/iso_time.h"
#include "net/xml.h"
#include "suite.h"

static struct xml xml_of(const char *text)
{
    struct xml xml;

    xml_begin(&xml, text, strlen(text));
    return xml;
}

/* Read the text of the outermost element. */
static int read_all(const char *text, struct secret *out, struct fault *fault)
{
    struct xml xml = xml_of(text);

    *out = (struct secret){ 0 };
    xml_next(&xml);
    xml_read(&xml, out);
    return xml_end(&xml, fault);
}

static void check_text(const char *text, const char *expected)
{
    struct secret read;
    struct fault fault;

    ck_assert_msg(read_all(text, &read, &fault) == 0, "%s: %s", text,
                  fault.what);
    ck_assert_str_eq(read.text, expected);
    secret_fini(&read);
}

START_TEST(text_is_read)
{
    check_text("<a>x y</a>", "x y");
    check_text("<a/>", "");
    check_text("<a></a>", "");
    check_text("<a b='1' c = \">2'\"\n/>\n", "");
    check_text("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- <b> --><a >x</a >"
               "<!-- y -->\n",
               "x");
    check_text("<a>1<!-- 2 -->3<?4 ?>5<![CDATA[<6>&amp;]]>7</a>",
               "135<6>&amp;7");
    check_text("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xe4;&#x20AC;"
               "&#x1F600;&#10;</a>",
               "<>&\"'AB\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n");
    check_text("<x:a>\xc3\xbc</x:a>", "\xc3\xbc");
}
END_TEST

/* The byte '^' marks the place, and is not part of the text. */
static void check_refused(const char *marked)
{
    const char *mark = strchr(marked, '^');
    size_t off = (size_t)(mark - marked);
    char text[256];
    struct secret read;
    struct fault fault;

    memcpy(text, marked, off);
    strcpy(text + off, mark + 1);
    ck_assert_msg(read_all(text, &read, &fault) == -EBADMSG, "%s", marked);
    ck_assert_msg(fault.off == off, "%s: %s at %d", marked, fault.what,
                  (int)fault.off);
    secret_fini(&read);
}

START_TEST(what_is_wrong_is_refused_at_its_place)
{
    check_refused("^");
    check_refused("^x<a/>");
    check_refused("<a>^");
    check_refused("<a>x^");
    check_refused("<a>x</^b>");
    check_refused("<a>x</a^");
    check_refused("<a>x</a ^b>");
    check_refused("<a/>^<b/>");
    check_refused("<a/>^x");
    check_refused("<^/>");
    check_refused("<^ a/>");
    check_refused("<a^");
    check_refused("<a ^");
    check_refused("<a b^/>");
    check_refused("<a b=^c/>");
    check_refused("<a b='^c/>");
    check_refused("<a b='^<'/>");
    check_refused("<a b='1'^c='2'/>");
    check_refused("<!--^ <a/>");
    check_refused("<a><![CDATA[^x</a>");
    check_refused("<a>^<b/></a>");
    check_refused("<a>x^&b;</a>");
    check_refused("<a>^&amp</a>");
    check_refused("<a>^&#0;</a>");
    check_refused("<a>^&#x;</a>");
    check_refused("<a>^&#1;</a>");
    check_refused("<a>^&#xD800;</a>");
    check_refused("<a>^&#x110000;</a>");
    check_refused("<a>^&#99999999999;</a>");
    check_refused("<a>^&#a;</a>");
    check_refused("<a>x^\x01</a>");
    check_refused("<a>^\xff</a>");
    check_refused("<a>^\xc3&#xa4;</a>");
    check_refused("^<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>");
}
END_TEST

START_TEST(nul_is_refused)
{
    struct secret read = { 0 };
    struct fault fault;
    struct xml xml;

    xml_begin(&xml, "<a>x\0y</a>", 10);
    ck_assert(xml_next(&xml));
    xml_read(&xml, &read);
    ck_assert_int_eq(xml_end(&xml, &fault), -EBADMSG);
    ck_assert_uint_eq(fault.off, 4);
    secret_fini(&read);
}
END_TEST

START_TEST(elements_are_entered_and_left)
{
    struct xml xml = xml_of("<a> 1 <b><c/></b> 2 <x:d>3</x:d><e/></a>");
    struct secret text = { 0 };
    struct fault fault;

    ck_assert(!xml_is(&xml, "a"));
    ck_assert(xml_next(&xml) && xml_is(&xml, "a"));
    ck_assert(xml_next(&xml) && xml_is(&xml, "b") && !xml_is(&xml, "bb"));
    xml_skip(&xml);
    ck_assert(xml_next(&xml) && xml_is(&xml, "d") && !xml_is(&xml, "x:d"));
    xml_read(&xml, &text);
    ck_assert_str_eq(text.text, "3");
    ck_assert(xml_next(&xml) && xml_is(&xml, "e"));
    ck_assert(!xml_next(&xml));
    ck_assert(xml_is(&xml, "a"));
    ck_assert(!xml_next(&xml));
    ck_assert(!xml_next(&xml));
    ck_assert_int_eq(xml_end(&xml, &fault), 0);
    secret_fini(&text);
}
END_TEST

START_TEST(depth_is_limited)
{
    char text[8 * XML_DEPTH_MAX + 8] = "";
    struct fault fault;
    struct xml xml;

    for (int i = 0; i < XML_DEPTH_MAX; i++)
        strcat(text, "<a>");
    for (int i = 0; i < XML_DEPTH_MAX; i++)
        strcat(text, "</a>");
    xml = xml_of(text);
    ck_assert(xml_next(&xml));
    xml_skip(&xml);
    ck_assert_int_eq(xml_end(&xml, &fault), 0);

    text[3 * XML_DEPTH_MAX] = '\0';
    strcat(text, "<a>");
    xml = xml_of(text);
    ck_assert(xml_next(&xml));
    xml_skip(&xml);
    ck_assert_int_eq(xml_end(&xml, &fault), -EBADMSG);
    ck_assert_str_eq(fault.what, "XML elements are too deep");
}
END_TEST

START_TEST(length_is_limited)
{
    char *text = malloc(XML_LEN_MAX + 1);
    struct fault fault;
    struct xml xml;

    memset(text, ' ', XML_LEN_MAX + 1);
    memcpy(text, "<a/>", 4);
    xml_begin(&xml, text, XML_LEN_MAX);
    ck_assert(xml_next(&xml));
    xml_skip(&xml);
    ck_assert_int_eq(xml_end(&xml, &fault), 0);
    xml_begin(&xml, text, XML_LEN_MAX + 1);
    ck_assert(!xml_next(&xml));
    ck_assert_int_eq(xml_end(&xml, &fault), -EBADMSG);
    free(text);
}
END_TEST

START_TEST(times_are_parsed)
{
    static const char *const wrong[] = {
        "",
        "2009-10-12",
        "2009-10-12T17:50:30",
        "2009-10-12T17:50:30.Zx",
        "2009-10-12 17:50:30Z",
        "2009-13-12T17:50:30Z",
        "2009-00-12T17:50:30Z",
        "2009-10-12T24:50:30Z",
        "2009-10-12T17:50:30+1:00",
        "2009-10-12T17:50:30+01:00Z",
        "209-10-12T17:50:30Z",
    };
    time_t time = 1;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!iso_time_parse(wrong[i], &time), "%s", wrong[i]);
    ck_assert_int_eq(time, 1);
    ck_assert(iso_time_parse("2009-10-12T17:50:30.123Z", &time));
    ck_assert_int_eq(time, 1255369830);
    ck_assert(iso_time_parse("2009-10-12T17:50:30Z", &time));
    ck_assert_int_eq(time, 1255369830);
    ck_assert(iso_time_parse("2009-10-12T19:20:30+01:30", &time));
    ck_assert_int_eq(time, 1255369830);
    ck_assert(iso_time_parse("2009-10-12T15:50:30.0-02:00", &time));
    ck_assert_int_eq(time, 1255369830);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        text_is_read,     what_is_wrong_is_refused_at_its_place,
        nul_is_refused,   elements_are_entered_and_left,
        depth_is_limited, length_is_limited,
        times_are_parsed, NULL,
    };

    return suite_run("xml", tests);
}
