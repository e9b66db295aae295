/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/s3_reply.h"
#include "suite.h"

#define NS     " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
#define PROLOG "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

static int parse_list(const char *text, struct s3_list *out)
{
    struct fault fault = FAULT_NONE;
    int r = s3_list_parse(text, strlen(text), out, &fault);

    ck_assert(r == 0 || r == -EBADMSG);
    ck_assert(r == 0 || fault.what);
    return r;
}

START_TEST(list_is_parsed)
{
    static const char text[] = PROLOG
        "<ListBucketResult" NS ">\n"
        "  <Name>bucket</Name><Prefix>a/</Prefix><KeyCount>3</KeyCount>\n"
        "  <MaxKeys>3</MaxKeys><IsTruncated>true</IsTruncated>\n"
        "  <Contents><Key>a/x+%2B%C3%BC%26</Key>\n"
        "    <LastModified>2009-10-12T17:50:30.000Z</LastModified>\n"
        "    <ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag>\n"
        "    <Size>434234</Size><StorageClass>STANDARD</StorageClass>\n"
        "    <Owner><ID>75aa</ID><DisplayName>m</DisplayName></Owner>\n"
        "  </Contents>\n"
        "  <Contents><Key>a/y</Key><Size>0</Size></Contents>\n"
        "  <CommonPrefixes><Prefix>a/b%2F</Prefix></CommonPrefixes>\n"
        "  <EncodingType>url</EncodingType>\n"
        "  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vb"
        "OwM=</NextContinuationToken>\n"
        "</ListBucketResult>\n";
    struct s3_list list;

    ck_assert_int_eq(parse_list(text, &list), 0);
    ck_assert_uint_eq(list.nobjects, 2);
    ck_assert_str_eq(list.objects[0].key, "a/x +\xc3\xbc&");
    ck_assert_uint_eq(list.objects[0].size, 434234);
    ck_assert_int_eq(list.objects[0].modified, 1255369830);
    ck_assert_str_eq(list.objects[0].etag,
                     "\"fba9dede5f27731c9771645a39863328\"");
    ck_assert_str_eq(list.objects[1].key, "a/y");
    ck_assert_uint_eq(list.objects[1].size, 0);
    ck_assert_int_eq(list.objects[1].modified, 0);
    ck_assert_str_eq(list.objects[1].etag, "");
    ck_assert_uint_eq(list.nprefixes, 1);
    ck_assert_str_eq(list.prefixes[0], "a/b/");
    ck_assert_str_eq(list.next, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOw"
                                "M=");
    s3_list_fini(&list);
    s3_list_fini(&list);
}
END_TEST

START_TEST(list_without_encoding_is_taken_as_it_is)
{
    struct s3_list list;

    ck_assert_int_eq(
        parse_list("<ListBucketResult><Contents><Key>a%20+</Key></Contents>"
                   "<IsTruncated>false</IsTruncated>"
                   "<NextContinuationToken>x</NextContinuationToken>"
                   "</ListBucketResult>",
                   &list),
        0);
    ck_assert_str_eq(list.objects[0].key, "a%20+");
    ck_assert_ptr_null(list.next);
    s3_list_fini(&list);
    ck_assert_int_eq(parse_list("<ListBucketResult/>", &list), 0);
    ck_assert_uint_eq(list.nobjects, 0);
    s3_list_fini(&list);
}
END_TEST

START_TEST(many_objects_are_listed)
{
    char *text = malloc(200000);
    struct s3_list list;

    strcpy(text, "<ListBucketResult>");
    for (char *at = text, c = 0; c < 100; c++) {
        at += strlen(at);
        for (int i = 0; i < 10; i++)
            strcat(at, "<Contents><Key>k</Key><Size>7</Size></Contents>");
    }
    strcat(text, "</ListBucketResult>");
    ck_assert_int_eq(parse_list(text, &list), 0);
    ck_assert_uint_eq(list.nobjects, 1000);
    for (size_t i = 0; i < 1000; i++) {
        ck_assert_str_eq(list.objects[i].key, "k");
        ck_assert_uint_eq(list.objects[i].size, 7);
    }
    s3_list_fini(&list);
    free(text);
}
END_TEST

#define LIST(text) "<ListBucketResult>" text "</ListBucketResult>"

START_TEST(other_lists_are_refused)
{
    static const char *const texts[] = {
        "",
        "<Error><Code>x</Code></Error>",
        "<html></html>",
        "<ListBucketResult>",
        LIST("<Contents></Contents>"),
        LIST("<Contents><Key>a</Key><Size>-1</Size></Contents>"),
        LIST("<Contents><Key>a</Key><Size>1K</Size></Contents>"),
        LIST("<Contents><Key>a</Key><Size></Size></Contents>"),
        LIST("<Contents><Key>a</Key><Size>18446744073709551616</Size>"
             "</Contents>"),
        LIST("<Contents><Key><b/></Key></Contents>"),
        LIST("<Contents><Key>a</Contents>"),
        LIST("<CommonPrefixes/>"),
        LIST("<IsTruncated>yes</IsTruncated>"),
        LIST("<IsTruncated>true</IsTruncated>"),
        LIST("<IsTruncated>true</IsTruncated><NextContinuationToken/>"),
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct s3_list list;

        ck_assert_msg(parse_list(texts[i], &list) == -EBADMSG, "%s", texts[i]);
    }
}
END_TEST

START_TEST(key_with_a_nul_hides_no_others)
{
    struct s3_list list;

    ck_assert_int_eq(parse_list(LIST("<EncodingType>url</EncodingType>"
                                     "<Contents><Key>a%00b</Key></Contents>"
                                     "<Contents><Key>c</Key></Contents>"),
                                &list),
                     0);
    ck_assert_uint_eq(list.nobjects, 2);
    ck_assert_str_eq(list.objects[0].key, "");
    ck_assert_str_eq(list.objects[1].key, "c");
    s3_list_fini(&list);
}
END_TEST

START_TEST(error_is_parsed)
{
    static const char s3[] =
        PROLOG "<Error><Code>PermanentRedirect</Code><Message>other</Message>"
               "<Endpoint>e</Endpoint><Region>eu-west-1</Region></Error>";
    static const char sts[] =
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
        "<Error><Type>Sender</Type><Code>ExpiredToken</Code></Error>"
        "<RequestId>x</RequestId></ErrorResponse>";
    struct fault fault = FAULT_NONE;
    struct s3_error error;

    ck_assert_int_eq(s3_error_parse(s3, strlen(s3), &error, &fault), 0);
    ck_assert_str_eq(error.code, "PermanentRedirect");
    ck_assert_str_eq(error.message, "other");
    ck_assert_str_eq(error.region, "eu-west-1");
    ck_assert_int_eq(s3_error_parse(sts, strlen(sts), &error, &fault), 0);
    ck_assert_str_eq(error.code, "ExpiredToken");
    ck_assert_int_eq(s3_error_parse("<Error/>", 8, &error, &fault), -EBADMSG);
    ck_assert_int_eq(s3_error_parse("", 0, &error, &fault), -EBADMSG);
}
END_TEST

START_TEST(long_error_is_cut)
{
    char text[2000] = "<Error><Code>Slow</Code><Message>";
    struct fault fault = FAULT_NONE;
    struct s3_error error;

    memset(text + strlen(text), 'x', 1000);
    strcat(text, "</Message></Error>");
    ck_assert_int_eq(s3_error_parse(text, strlen(text), &error, &fault), 0);
    ck_assert_uint_eq(strlen(error.message), sizeof(error.message) - 1);
}
END_TEST

START_TEST(upload_is_parsed)
{
    static const char text[] = PROLOG
        "<InitiateMultipartUploadResult" NS "><Bucket>b</Bucket><Key>k</Key>"
        "<UploadId>VXBsb2Fk</UploadId></InitiateMultipartUploadResult>";
    static const char empty[] = "<InitiateMultipartUploadResult><UploadId/>"
                                "</InitiateMultipartUploadResult>";
    struct fault fault = FAULT_NONE;
    char *id = NULL;

    ck_assert_int_eq(s3_upload_parse(text, strlen(text), &id, &fault), 0);
    ck_assert_str_eq(id, "VXBsb2Fk");
    free(id);
    ck_assert_int_eq(s3_upload_parse(empty, strlen(empty), &id, &fault),
                     -EBADMSG);
    ck_assert_int_eq(s3_upload_parse("<Error/>", 8, &id, &fault), -EBADMSG);
}
END_TEST

START_TEST(answers_to_copies_are_read)
{
    static const char made[] =
        "<CopyObjectResult><LastModified>2026-01-02T03:04:05Z</LastModified>"
        "<ETag>&quot;3858-1&quot;</ETag></CopyObjectResult>";
    static const char stale[] =
        "<Error><Code>PreconditionFailed</Code></Error>";
    static const char failed[] = "<Error><Code>InternalError</Code></Error>";
    char etag[S3_ETAG_MAX] = "";

    ck_assert_int_eq(s3_complete_result(made, strlen(made), etag), 0);
    ck_assert_str_eq(etag, "\"3858-1\"");
    ck_assert_int_eq(s3_complete_result(stale, strlen(stale), etag), -ESTALE);
    ck_assert_int_eq(s3_complete_result(failed, strlen(failed), etag), -EIO);
    ck_assert_int_eq(s3_complete_result("", 0, etag), -EIO);
}
END_TEST

START_TEST(complete_is_parsed)
{
    static const char text[] =
        PROLOG "\n\n<CompleteMultipartUploadResult" NS "><Location>l</Location>"
               "<ETag>\"3858-1\"</ETag></CompleteMultipartUploadResult>";
    static const char failed[] =
        PROLOG "<Error><Code>InternalError</Code><Message>m</Message></Error>";
    static const char none[] = "<CompleteMultipartUploadResult/>";
    struct fault fault = FAULT_NONE;
    struct s3_complete complete;

    ck_assert_int_eq(s3_complete_parse(text, strlen(text), &complete, &fault),
                     0);
    ck_assert_str_eq(complete.etag, "\"3858-1\"");
    ck_assert_str_eq(complete.error.code, "");
    ck_assert_int_eq(
        s3_complete_parse(failed, strlen(failed), &complete, &fault), 0);
    ck_assert_str_eq(complete.error.code, "InternalError");
    ck_assert_int_eq(s3_complete_parse(none, strlen(none), &complete, &fault),
                     -EBADMSG);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        list_is_parsed,
        list_without_encoding_is_taken_as_it_is,
        many_objects_are_listed,
        other_lists_are_refused,
        key_with_a_nul_hides_no_others,
        error_is_parsed,
        long_error_is_cut,
        upload_is_parsed,
        answers_to_copies_are_read,
        complete_is_parsed,
        NULL,
    };

    return suite_run("s3_reply", tests);
}
